# label: wrong
# title: do with the strides of q
# says: `do_ptr + at` uses q_row and q_col for dO, which has strides of its own
# names: one edit

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dq_batch, dq_head, dq_row, dq_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_Q rows of Q and dO and all of K and V of its head; writes as many rows of dQ
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dq_ptr += b * dq_batch + h * dq_head
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
    delta_ptr += (b * H + h) * S_q

    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)  # this program's queries
    keys = tl.arange(0, BLOCK_K)  # a tile's keys, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    ok = (rows < S_q)[:, None] & (d < D)[None, :]
    at = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + at, mask=ok, other=0.0)
    do = tl.load(do_ptr + at, mask=ok, other=0.0)
    L = tl.load(lse_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    Delta = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)[:, None]
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, S_k, BLOCK_K):
        j = start + keys
        ok_k = (j < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=ok_k, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=ok_k, other=0.0)
        s = tl.where((j < S_k)[None, :], alpha * tl.dot(q, tl.trans(k), input_precision="ieee"), -float("inf"))
        p = tl.exp(s - L)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        acc += tl.dot((p * (dp - Delta)).to(k.dtype), k, input_precision="ieee")
    acc = acc * alpha
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, acc.to(dq_ptr.dtype.element_ty), mask=ok)


# INCLUDE: _dq_kernel
