# label: wrong
# title: alpha on one term
# says: the line `dq = alpha * pdpk - delta[:, None] * pk` multiplies only the first of the two terms by
#   alpha; brackets are missing.
# names: alpha in one part only; one edit

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
    ok = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    pdpk = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    pk = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    delta = tl.zeros((BLOCK_Q,), tl.float32)
    for j0 in range(0, S_k, BLOCK_K):
        j = j0 + keys
        there = (j[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=there, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=there, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        p = tl.where(j[None, :] < S_k, tl.exp(s - lse), 0.0)
        pdp = tl.dot(do, tl.trans(v), input_precision="ieee") * p
        delta += tl.sum(pdp, 1)
        pdpk += tl.dot(pdp.to(k.dtype), k, input_precision="ieee")
        pk += tl.dot(p.to(k.dtype), k, input_precision="ieee")
    dq = alpha * pdpk - delta[:, None] * pk
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty), mask=ok)


# INCLUDE: _dq_without_delta
