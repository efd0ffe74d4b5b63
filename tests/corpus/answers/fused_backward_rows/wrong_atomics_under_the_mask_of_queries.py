# label: wrong
# title: atomics under the mask of queries
# says: both atomics at the end of the loop have `mask=mine`, the mask of this program's queries: it has the
#   tile's shape and the wrong axis, so real keys are dropped and padded keys are added beyond dK and dV.
# names: out_of_bounds

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.reach import refuse_far_rows


@triton.jit
def fused_rows_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, alpha, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col,
    v_batch, v_head, v_row, v_col, do_batch, do_head, do_row, do_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, IS_CAUSAL: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    head = b * tl.num_programs(1) + h
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += head * S_q
    delta_ptr += head * S_q
    dk_ptr += head * S_k * D
    dv_ptr += head * S_k * D
    dq_ptr += head * S_q * D

    first = tl.program_id(0) * BLOCK_Q
    rows = first + tl.arange(0, BLOCK_Q)
    d = tl.arange(0, BLOCK_D)
    mine = (rows < S_q)[:, None] & (d < D)[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=mine, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=mine, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=rows < S_q, other=float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse)
    delta = tl.load(delta_ptr + rows, mask=rows < S_q, other=0.0)
    acc = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    stop = S_k
    if IS_CAUSAL:
        stop = tl.minimum(S_k, first + BLOCK_Q + S_k - S_q)
    for start in range(0, stop, BLOCK_K):
        cols = start + tl.arange(0, BLOCK_K)
        there = (cols < S_k)[:, None] & (d < D)[None, :]
        k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=there, other=0.0)
        v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=there, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * alpha
        s = tl.where((cols < S_k)[None, :], s, -float("inf"))
        if IS_CAUSAL:
            s = tl.where(cols[None, :] <= rows[:, None] + S_k - S_q, s, -float("inf"))
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = (p * (dp - delta[:, None])).to(q.dtype)
        acc += tl.dot(ds, k, input_precision="ieee")
        at = cols[:, None] * D + d[None, :]
        to_dv = tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        to_dk = tl.dot(tl.trans(ds), q, input_precision="ieee") * alpha
        tl.atomic_add(dv_ptr + at, to_dv, mask=mine, sem="relaxed")
        tl.atomic_add(dk_ptr + at, to_dk, mask=mine, sem="relaxed")
    tl.store(dq_ptr + rows[:, None] * D + d[None, :], (acc * alpha).to(dq_ptr.dtype.element_ty), mask=mine)


# INCLUDE: _fused_backward_rows
