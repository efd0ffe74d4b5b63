# label: wrong
# title: transposed tile, delta along the wrong axis
# says: The tiles are transposed (keys down, queries across), and LSE is rightly subtracted as `lse[None, :]`,
#   but delta as `delta[:, None]`: delta of query i goes to key i of the tile. The tile is square, so nothing
#   complains; dK is wrong, dV right.
# names: delta along the keys

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q
    n = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BLOCK_D)
    n_mask = (n[:, None] < S_k) & (d[None, :] < D)
    k = tl.load(
        k_ptr + b * k_batch + h * k_head + n[:, None] * k_row + d[None, :] * k_col, mask=n_mask, other=0.0
    )
    v = tl.load(
        v_ptr + b * v_batch + h * v_head + n[:, None] * v_row + d[None, :] * v_col, mask=n_mask, other=0.0
    )
    dk = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    dv = tl.zeros((BLOCK, BLOCK_D), tl.float32)
    for step in range(tl.cdiv(S_q, BLOCK)):
        m = step * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
        m_mask = (m[:, None] < S_q) & (d[None, :] < D)
        q = tl.load(q_ptr + m[:, None] * q_row + d[None, :] * q_col, mask=m_mask, other=0.0)
        do = tl.load(do_ptr + m[:, None] * do_row + d[None, :] * do_col, mask=m_mask, other=0.0)
        lse = tl.load(lse_ptr + m, mask=m < S_q, other=float("inf"))
        delta = tl.load(delta_ptr + m, mask=m < S_q, other=0.0)
        sT = alpha * tl.dot(k, tl.trans(q), input_precision="ieee")  # keys x queries
        pT = tl.exp(sT - lse[None, :])
        dv += tl.dot(pT.to(do.dtype), do, input_precision="ieee")
        dpT = tl.dot(v, tl.trans(do), input_precision="ieee")
        dsT = pT * (dpT - delta[:, None])
        dk += tl.dot(dsT.to(q.dtype), q, input_precision="ieee")
    dk = dk * alpha
    tl.store(
        dk_ptr + b * dk_batch + h * dk_head + n[:, None] * dk_row + d[None, :] * dk_col,
        dk.to(dk_ptr.dtype.element_ty), mask=n_mask
    )
    tl.store(
        dv_ptr + b * dv_batch + h * dv_head + n[:, None] * dv_row + d[None, :] * dv_col,
        dv.to(dv_ptr.dtype.element_ty), mask=n_mask
    )

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    flash_dkv_kernel[(triton.cdiv(S_k, block or 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK=block or 32, BLOCK_D=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
