# label: wrong
# title: start rounded up
# says: line range(tl.cdiv(first, BLOCK_Q) * BLOCK_Q, ...): the loop begins at the next whole tile, so queries
#   in the tile that the diagonal crosses are lost
# names: the first block that sees the keys is left out
# base: wrong_mask_the_wrong_way

# --- replace
    for start in range(first // BLOCK_Q * BLOCK_Q, S_q, BLOCK_Q):
# --- with
    for start in range(tl.cdiv(first, BLOCK_Q) * BLOCK_Q, S_q, BLOCK_Q):

# --- replace
        dl = tl.load(delta_ptr + qi, mask=q_in, other=0.0)
# --- with
        lse = tl.where(lse == -float("inf"), float("inf"), lse)
        dl = tl.load(delta_ptr + qi, mask=q_in, other=0.0)

# --- replace
        seen = kj[None, :] >= qi[:, None] + S_k - S_q
# --- with
        seen = kj[None, :] <= qi[:, None] + S_k - S_q
