# label: wrong
# title: as many keys as queries
# says: A sequence is given as many keys as it has queries.
# names: the length of the queries; out_of_bounds; one edit
# base: _as_taught

# --- replace
    keys = tl.load(cu_k_ptr + b + 1) - key_0
# --- with
    keys = queries
