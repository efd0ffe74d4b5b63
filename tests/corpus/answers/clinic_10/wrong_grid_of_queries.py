# label: wrong
# title: grid of queries
# says: the arguments of the launch are put right, but the grid is counted in queries now (`triton.cdiv(S_q,
#   BLOCK)`): blocks of keys are missing where S_k > S_q.
# names: never written
# base: _course_solution_without_markers

# --- replace
    grid = (triton.cdiv(S_k, BLOCK),)
# --- with
    grid = (triton.cdiv(S_q, BLOCK),)
