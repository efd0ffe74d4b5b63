# label: wrong
# title: adds shares nobody wrote
# says: under a causal mask the sum runs over all blocks of keys (`wrote = blocks`), also those that stored
#   nothing here, in memory from torch.empty.
# names: uninitialised memory
# base: _course_solution_without_markers

# --- replace
    if IS_CAUSAL:  # blocks of keys that no query of this block sees have stored nothing here
        unseen_from = tl.maximum(0, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
        wrote = tl.minimum(blocks, tl.cdiv(unseen_from, BLOCK_K))
# --- with
