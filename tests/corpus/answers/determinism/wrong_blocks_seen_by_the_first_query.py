# label: wrong
# title: blocks seen by the first query
# says: `seen = tl.program_id(0) * BLOCK_Q + 1 + S_k - S_q` counts the keys of the block's first query: the
#   shares of the blocks of keys that only its later queries see are not added.
# names: one edit; the sum ends with the first query
# base: _course_solution_without_markers

# --- replace
        unseen_from = tl.maximum(0, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
        wrote = tl.minimum(blocks, tl.cdiv(unseen_from, BLOCK_K))
# --- with
        seen = tl.program_id(0) * BLOCK_Q + 1 + S_k - S_q
        wrote = tl.minimum(blocks, tl.cdiv(tl.maximum(seen, 0), BLOCK_K))
