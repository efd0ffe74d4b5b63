# label: wrong
# title: scaled q meets ds and alpha again
# says: q is scaled on load (`q = (q * alpha).to(q.dtype)`), so `dk += dsᵀ q` has alpha already, and `dk *
#   alpha` at the end puts it there twice (and half precision rounds the scaled q)
# names: alpha applied twice to dK

from torch import Tensor
from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # reads BLOCK_K rows of K and V and all of Q, dO, lse and delta of its head; writes as many of dK and dV
    h = tl.program_id(1).to(tl.int64)  # 64 bits, since h · q_head and b · q_batch may pass 2³¹
    b = tl.program_id(2).to(tl.int64)
    q_ptr += b * q_batch + h * q_head  # from here on each pointer is at its own head's first element
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += (b * H + h) * S_q  # lse and delta are contiguous, [B, H, S_q]
    delta_ptr += (b * H + h) * S_q

    columns = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)  # this program's keys
    queries = tl.arange(0, BLOCK_Q)  # a tile's queries, counted from the tile's first
    d = tl.arange(0, BLOCK_D)  # BLOCK_D ≥ D; the rest is padding
    mask_k = (columns < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=mask_k, other=0.0)
    v = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=mask_k, other=0.0)
    grad_k = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    grad_v = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(S_q, BLOCK_Q)):
        r = t * BLOCK_Q + queries
        mask_q = (r < S_q)[:, None] & (d < D)[None, :]
        q = tl.load(q_ptr + r[:, None] * q_row + d[None, :] * q_col, mask=mask_q, other=0.0)
        q = (q * alpha).to(q.dtype)
        do = tl.load(do_ptr + r[:, None] * do_row + d[None, :] * do_col, mask=mask_q, other=0.0)
        lse = tl.load(lse_ptr + r, mask=r < S_q, other=float("inf"))
        delta = tl.load(delta_ptr + r, mask=r < S_q, other=0.0)
        p = tl.exp(tl.dot(q, tl.trans(k), input_precision="ieee") - lse[:, None])
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        grad_v += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        grad_k += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    grad_k = grad_k * alpha
    tl.store(dk_ptr + columns[:, None] * dk_row + d[None, :] * dk_col, grad_k.to(dk_ptr.dtype.element_ty), mask=mask_k)
    tl.store(dv_ptr + columns[:, None] * dv_row + d[None, :] * dv_col, grad_v.to(dv_ptr.dtype.element_ty), mask=mask_k)


# INCLUDE: _dkv_kernel
