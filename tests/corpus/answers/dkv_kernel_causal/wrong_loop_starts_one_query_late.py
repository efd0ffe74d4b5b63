# label: wrong
# title: the loop starts one query late
# says: `first` is one query too large. Where the first query that sees the block is the last of its tile, the
#   tile is lost.
# names: diagonal tiles; one edit
# base: _course_solution

# --- replace
    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))  # the first query that sees this block
# --- with
    first = tl.maximum(0, tl.program_id(0) * BLOCK_K + 1 - (S_k - S_q))
