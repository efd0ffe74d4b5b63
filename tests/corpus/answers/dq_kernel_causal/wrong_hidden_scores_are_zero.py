# label: wrong
# title: hidden scores are zero
# says: `s = tl.where(visible, s, 0.0)` gives hidden keys the score 0 and so P = e^{-LSE}; it must be -inf
#   before the exponential (or P = 0 after it)
# names: hidden scores set to 0

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_causal_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # query i sees the keys j ≤ i + S_k − S_q; reads K and V only as far as this block's last query sees
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    keys = tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    mine = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0)
    g = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mine, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=rows < S_q, other=float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse)
    delta = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    reach = rows + S_k - S_q
    stop = tl.minimum((tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q, S_k)
    for start in range(0, stop, BLOCK_K):
        cols = start + keys
        theirs = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=theirs, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=theirs, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        visible = (cols < S_k)[None, :] & (cols[None, :] <= reach[:, None])
        s = tl.where(visible, s, 0.0)
        p = tl.exp(s - lse[:, None])
        ds = p * (tl.dot(g, tl.trans(v), input_precision="ieee") - delta[:, None])
        dq = tl.dot(ds.to(k.dtype), k, dq, input_precision="ieee")
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, (dq * alpha).to(dq_ptr.dtype.element_ty), mask=mine)


# INCLUDE: _dq_kernel_causal
