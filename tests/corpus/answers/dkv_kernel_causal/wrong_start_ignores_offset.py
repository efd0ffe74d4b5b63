# label: wrong
# title: start ignores offset
# says: the loop starts at `tl.program_id(0) * BLOCK_K`, as if S_q = S_k: with more keys than queries it skips
#   queries that see the block.
# names: loop start without S_k − S_q
# base: right_keys_first_unaligned_start

# --- replace
    begin = tl.maximum(tl.program_id(0) * BLOCK_K + S_q - S_k, 0)
    for i0 in range(begin, S_q, BLOCK_Q):
# --- with
    for i0 in range(tl.program_id(0) * BLOCK_K // BLOCK_Q * BLOCK_Q, S_q, BLOCK_Q):

# --- replace
        pt = tl.where(visible, tl.exp(zt - lse[None, :]), 0.0)
# --- with
        pt = tl.exp(tl.where(visible, zt, float("-inf")) - lse[None, :])
