# label: wrong
# title: BLOCK_Q * BLOCK_Q for start in range(first, S_k, BLOCK_Q)
# says: The loop over queries ends at S_k.
# names: loop over S_k
# base: _course_solution

# --- replace
    for start in range(first, S_q, BLOCK_Q):
# --- with
    for start in range(first, S_k, BLOCK_Q):
