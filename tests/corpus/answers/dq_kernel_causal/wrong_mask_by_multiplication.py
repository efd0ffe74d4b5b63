# label: wrong
# title: mask by multiplication
# says: hidden scores are multiplied by 0 (line `s = s * visible...`) instead of set to -inf: a hidden key
#   gets p = exp(-lse) and not 0
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
    q_ok = rows < S_q
    d_ok = d < D
    ok = q_ok[:, None] & d_ok[None, :]
    q = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
    do = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
    lse = tl.load(lse_ptr + rows, mask=q_ok, other=float("inf"))
    lse = tl.where(lse == -float("inf"), float("inf"), lse)
    delta = tl.load(delta_ptr + rows, mask=q_ok, other=0.0)
    dq = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    offset = S_k - S_q
    end = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + offset)
    for j0 in range(0, end, BLOCK_K):
        j = j0 + keys
        tile_ok = (j < S_k)[:, None] & d_ok[None, :]
        k = tl.load(k_ptr + j[:, None] * k_row + d[None, :] * k_col, mask=tile_ok, other=0.0)
        v = tl.load(v_ptr + j[:, None] * v_row + d[None, :] * v_col, mask=tile_ok, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        visible = (j < S_k)[None, :] & (j[None, :] <= rows[:, None] + offset)
        s = s * visible.to(tl.float32)
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dq = dq * alpha
    tl.store(dq_ptr + rows[:, None] * dq_row + d[None, :] * dq_col, dq.to(dq_ptr.dtype.element_ty), mask=ok)


# INCLUDE: _dq_kernel_causal
