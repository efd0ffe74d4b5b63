# label: wrong
# title: keys cut where the queries are
# says: Keys have the borders of the queries.
# names: the borders of the queries; out_of_bounds; one edit
# base: _as_taught

# --- replace
    key_0 = tl.load(cu_k_ptr + b)
# --- with
    key_0 = tl.load(cu_q_ptr + b)

# --- replace
    keys = tl.load(cu_k_ptr + b + 1) - key_0
# --- with
    keys = tl.load(cu_q_ptr + b + 1) - key_0
