# label: wrong
# title: statistics pitch of keys
# says: `lse_ptr += (b * H + h) * S_k` (and delta's line below it): each head's LSE and delta have S_q
#   numbers, not S_k, so every head but the first reads another head's statistics where S_q differs from S_k.
# names: out_of_bounds

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
    lse_ptr += (b * H + h) * S_k
    delta_ptr += (b * H + h) * S_k

    cols = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    d = tl.arange(0, BLOCK_D)
    dim = (d < D)[None, :]
    mine = (cols < S_k)[:, None] & dim
    k = tl.load(k_ptr + cols[:, None] * k_row + d[None, :] * k_col, mask=mine, other=0.0)
    v = tl.load(v_ptr + cols[:, None] * v_row + d[None, :] * v_col, mask=mine, other=0.0)
    dk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for tile in range(tl.cdiv(S_q, BLOCK_Q)):
        i = tile * BLOCK_Q + tl.arange(0, BLOCK_Q)
        real = i < S_q
        q = tl.load(q_ptr + i[:, None] * q_row + d[None, :] * q_col, mask=real[:, None] & dim, other=0.0)
        do = tl.load(do_ptr + i[:, None] * do_row + d[None, :] * do_col, mask=real[:, None] & dim, other=0.0)
        lse = tl.load(lse_ptr + i, mask=real, other=0.0)
        delta = tl.load(delta_ptr + i, mask=real, other=0.0)
        p = tl.exp(alpha * tl.dot(q, tl.trans(k), input_precision="ieee") - lse[:, None])
        p = tl.where(real[:, None] & (cols < S_k)[None, :], p, 0.0)
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk = dk * alpha
    tl.store(dk_ptr + cols[:, None] * dk_row + d[None, :] * dk_col, dk.to(dk_ptr.dtype.element_ty), mask=mine)
    tl.store(dv_ptr + cols[:, None] * dv_row + d[None, :] * dv_col, dv.to(dv_ptr.dtype.element_ty), mask=mine)


# INCLUDE: _dkv_kernel_4
