# label: wrong
# title: one list for both
# says: The pass of dK and dV takes the list of blocks of queries.
# names: never written; one edit; race; out_of_bounds
# base: _as_taught

# --- replace
    blocks_ptr = extras[3]
# --- with
    blocks_ptr = extras[2]
