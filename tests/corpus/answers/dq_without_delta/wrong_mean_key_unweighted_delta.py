# label: wrong
# title: mean key unweighted delta
# says: line `delta_i +=`: only overwritten, holds the last tile’s sum
# names: one edit

from torch import Tensor


@triton.jit
def dq_without_delta_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_Q rows of Q and dO, and all of K and V of its head once; writes as many rows of dQ
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    in_queries = rows < S_q
    in_d = d < D
    in_block = in_queries[:, None] & in_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=in_block, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=in_block, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=in_queries, other=0.0)
    worth_of_keys = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)  # Σ P dP K
    mean_key = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)  # Σ P K
    delta_i = tl.zeros((BLOCK_Q,), tl.float32)  # Σ P dP, complete only after the last tile
    for start in range(0, S_k, BLOCK_K):
        columns = start + keys
        in_keys = columns < S_k
        in_tile = in_keys[:, None] & in_d[None, :]
        k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=in_tile, other=0.0)
        v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=in_tile, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(in_keys[None, :], s, -float("inf"))
        p = tl.exp(s - lse_i[:, None])
        p_dp = p * tl.dot(do, tl.trans(v), input_precision="ieee")
        worth_of_keys += tl.dot(p_dp.to(k.dtype), k, input_precision="ieee")
        mean_key += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        delta_i = tl.sum(p_dp, axis=1)
    dq = alpha * (worth_of_keys - delta_i[:, None] * mean_key)
    dq_tile = rows[:, None] * dq_row + d[None, :] * dq_col
    tl.store(dq_ptr + dq_tile, dq.to(dq_ptr.dtype.element_ty), mask=in_block)


# INCLUDE: _dq_without_delta
