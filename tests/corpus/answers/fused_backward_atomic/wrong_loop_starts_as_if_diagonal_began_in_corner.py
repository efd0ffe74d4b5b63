# label: wrong
# title: tl.program_id(0) * BLOCK_K) // BLOCK_Q
# says: The loop starts as if the diagonal began in the corner.
# names: loop start without S_k − S_q
# base: _course_solution

# --- replace
        first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q)) // BLOCK_Q * BLOCK_Q
# --- with
        first = tl.maximum(0, tl.program_id(0) * BLOCK_K) // BLOCK_Q * BLOCK_Q
