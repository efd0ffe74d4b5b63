# label: wrong
# title: start at own block
# says: line `for start`: starts at the block’s own diagonal index, ignoring S_k − S_q
# names: loop start without S_k − S_q
# base: _course_solution_without_markers

# --- replace
):
    # key j is seen by the queries i ≥ j − (S_k − S_q); reads Q and dO from the first that sees this block
    h = tl.program_id(1).to(tl.int64)
# --- with
):
  
    h = tl.program_id(1).to(tl.int64)

# --- replace
    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))  # the first query that sees this block
# --- with
    first = tl.program_id(0) * BLOCK_K

# --- replace
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # saw no key: P = 0, as for padding
# --- with
        lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)

# --- replace
    STAGES = 2  # as without a mask: two programs share a multiprocessor
# --- with
    STAGES = 2
