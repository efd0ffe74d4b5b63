# label: wrong
# title: delta summed over queries
# says: two mistakes: `d_sum += tl.sum(pdp, axis=0)` sums over the queries instead of the keys (the tile is
#   square, so it runs), and alpha is missing from dq
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
    q_ok = rows < S_q
    d_ok = d < D
    ok = q_ok[:, None] & d_ok[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=q_ok, other=0.0)
    first_sum = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    second_sum = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    d_sum = tl.zeros((BLOCK_Q,), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        tile_ok = (j < S_k)[:, None] & d_ok[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=tile_ok, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=tile_ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(tl.where((j < S_k)[None, :], s, -float("inf")) - lse[:, None])
        pdp = p * tl.dot(do, tl.trans(v), input_precision="ieee")
        first_sum += tl.dot(pdp.to(k.dtype), k, input_precision="ieee")
        second_sum += tl.dot(p.to(k.dtype), k, input_precision="ieee")
        d_sum += tl.sum(pdp, axis=0)
    dq = first_sum - d_sum[:, None] * second_sum
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty), mask=ok)


# INCLUDE: _dq_without_delta
