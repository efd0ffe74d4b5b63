# label: wrong
# title: mean key divided by the number of keys
# says: `mean_key = sum_pk / S_k` divides by the number of keys; the sum of P K is weighted with probabilities
#   and is the mean already
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
    mask_q = (rows[:, None] < S_q) & (d[None, :] < D)
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mask_q, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mask_q, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)
    sum_pdpk = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    sum_pk = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    delta = tl.zeros((BLOCK_Q,), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        cols = start + keys
        mask_k = (cols[:, None] < S_k) & (d[None, :] < D)
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=mask_k, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=mask_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(tl.where(cols[None, :] < S_k, s, -float("inf")) - lse[:, None])
        w = p * tl.dot(do, tl.trans(v), input_precision="ieee")
        delta += tl.sum(w, axis=1)
        sum_pdpk += tl.dot(w.to(k.dtype), k, input_precision="ieee")
        sum_pk += tl.dot(p.to(k.dtype), k, input_precision="ieee")
    mean_key = sum_pk / S_k
    dq = alpha * (sum_pdpk - delta[:, None] * mean_key)
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty), mask=mask_q)


# INCLUDE: _dq_without_delta
