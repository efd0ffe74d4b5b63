# label: wrong
# title: mask multiplied after exp
# says: the line `p = tl.exp(s - lse_i[:, None]) * seen` masks by multiplying with 0 after the exponential:
#   where a hidden (or padded) score lies far above LSE the exponential is inf, and inf · 0 is NaN.
# names: zero times inf

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
    ok_q = rows < S_q
    ok_d = d < D
    ok = ok_q[:, None] & ok_d[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
    g = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
    lse_i = tl.load(lse_ptr + rows, mask=ok_q, other=float("inf"))
    lse_i = tl.where(lse_i == -float("inf"), float("inf"), lse_i)  # a row without keys: p = exp(-inf) = 0
    delta_i = tl.load(delta_ptr + rows, mask=ok_q, other=0.0)
    offset = S_k - S_q
    last = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + offset)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for start in range(0, last, BLOCK_K):
        j = start + keys
        ok_kv = (j < S_k)[:, None] & ok_d[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=ok_kv, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=ok_kv, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        seen = ((j < S_k)[None, :] & (j[None, :] <= rows[:, None] + offset)).to(tl.float32)
        p = tl.exp(s - lse_i[:, None]) * seen
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_i[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    tl.store(
        dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, (alpha * dq).to(dq_ptr.dtype.element_ty), mask=ok
    )


# INCLUDE: _dq_kernel_causal
