# label: wrong
# title: alpha on the running sum
# says: the line `sum_dk = alpha * (sum_dk + ...)` scales the running sum of dK in every step, so the first of
#   n tiles gets alpha to the n-th power.
# names: one edit

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q
    delta_ptr += (b * H + h) * S_q

    kk = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    k_ok = (kk < S_k)[:, None] & (d < D)[None, :]
    K = tl.load(k_ptr + kk[:, None] * k_row + d[None, :] * k_col, mask=k_ok, other=0.0)
    V = tl.load(v_ptr + kk[:, None] * v_row + d[None, :] * v_col, mask=k_ok, other=0.0)
    sum_dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    sum_dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    qq = tl.arange(0, BLOCK_Q)
    for _ in range(0, S_q, BLOCK_Q):
        q_ok = (qq < S_q)[:, None] & (d < D)[None, :]
        Q = tl.load(q_ptr + qq[:, None] * q_row + d[None, :] * q_col, mask=q_ok, other=0.0)
        DO = tl.load(do_ptr + qq[:, None] * do_row + d[None, :] * do_col, mask=q_ok, other=0.0)
        L = tl.load(lse_ptr + qq, mask=qq < S_q, other=float("inf"))
        DELTA = tl.load(delta_ptr + qq, mask=qq < S_q, other=0.0)
        P = tl.exp(tl.dot(Q, tl.trans(K), input_precision="ieee") * alpha - L[:, None])
        DP = tl.dot(DO, tl.trans(V), input_precision="ieee")
        DS = P * (DP - DELTA[:, None])
        sum_dv += tl.dot(tl.trans(P.to(DO.dtype)), DO, input_precision="ieee")
        sum_dk = alpha * (sum_dk + tl.dot(tl.trans(DS.to(Q.dtype)), Q, input_precision="ieee"))
        qq += BLOCK_Q
    tl.store(dk_ptr + kk[:, None] * dk_row + d[None, :] * dk_col, sum_dk.to(dk_ptr.dtype.element_ty), mask=k_ok)
    tl.store(dv_ptr + kk[:, None] * dv_row + d[None, :] * dv_col, sum_dv.to(dv_ptr.dtype.element_ty), mask=k_ok)


# INCLUDE: _dkv_kernel_4
