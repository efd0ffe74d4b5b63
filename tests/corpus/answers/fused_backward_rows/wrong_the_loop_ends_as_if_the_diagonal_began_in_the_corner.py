# label: wrong
# title: (tl.program_id(0) + 1) * BLOCK_Q)
# says: The loop ends as if the diagonal began in the corner.
# names: loop end without S_k − S_q
# base: _course_solution

# --- replace
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
# --- with
        end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q)
