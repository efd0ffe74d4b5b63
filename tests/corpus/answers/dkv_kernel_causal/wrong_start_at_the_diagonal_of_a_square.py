# label: wrong
# title: start at the diagonal of a square
# says: `first = tl.program_id(0) * BLOCK_K` forgets the shift S_k − S_q: with more keys than queries the scan
#   begins too late and misses queries that see the block
# names: loop start without S_k − S_q
# base: _course_solution_without_markers

# --- replace
    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))  # the first query that sees this block
# --- with
    first = tl.program_id(0) * BLOCK_K  # queries before the diagonal do not see this block
