# label: wrong
# title: exp2 of natural lse
# says: the line `p = tl.math.exp2(qk - lse_i[:, None])` subtracts the natural-logarithm LSE from scores that
#   were scaled by log2(e): the LSE lacks the factor log2(e), so P is wrong.
# names: LSE read as base 2

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
    RCP_LN2: tl.constexpr = 1.4426950408889634
    row_ok = rows < S_q
    d_ok = d < D
    ok = row_ok[:, None] & d_ok[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=row_ok, other=0.0)
    Di = tl.load(delta_ptr + rows, mask=row_ok, other=0.0)
    dq = tl.zeros([BLOCK_Q, BLOCK_D], dtype=tl.float32)
    for start_n in range(0, S_k, BLOCK_K):
        n = start_n + keys
        n_ok = n < S_k
        kT = tl.load(k_ptr + d[:, None] * k_col + n[None, :] * k_row, mask=d_ok[:, None] & n_ok[None, :], other=0.0)
        vT = tl.load(v_ptr + d[:, None] * v_col + n[None, :] * v_row, mask=d_ok[:, None] & n_ok[None, :], other=0.0)
        qk = tl.dot(q, kT, input_precision="ieee") * (alpha * RCP_LN2)
        qk = tl.where(n_ok[None, :], qk, float("-inf"))
        p = tl.math.exp2(qk - lse_i[:, None])
        dp = tl.dot(do, vT, input_precision="ieee").to(tl.float32)
        ds = p * (dp - Di[:, None])
        dq += tl.dot(ds.to(kT.dtype), tl.trans(kT), input_precision="ieee")
    dq = dq * alpha
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty), mask=ok)


# INCLUDE: _dq_kernel
