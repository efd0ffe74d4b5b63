# label: wrong
# title: a sequence's end taken for its length
# says: The number of queries and of keys is the sequence's end in the packed tensors; from the second sequence on that is more than it has.
# names: sequences leak into each other; out_of_bounds; one edit; race
# base: _as_taught

# --- replace
    queries = tl.load(cu_q_ptr + b + 1) - row_0
    keys = tl.load(cu_k_ptr + b + 1) - key_0
# --- with
    queries = tl.load(cu_q_ptr + b + 1)
    keys = tl.load(cu_k_ptr + b + 1)
