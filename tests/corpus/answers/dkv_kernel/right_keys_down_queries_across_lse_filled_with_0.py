# label: right
# title: keys down, queries across, LSE filled with 0

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dkv_transposed(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(0).to(tl.int64)
    b = bh // H
    h = bh % H
    j = tl.program_id(1).to(tl.int64) * BK + tl.arange(0, BK)
    d = tl.arange(0, BD)
    mine = (j < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(
        k_ptr + b * k_batch + h * k_head + j[:, None] * k_row + d[None, :] * k_col, mask=mine, other=0.0
    )
    v = tl.load(
        v_ptr + b * v_batch + h * v_head + j[:, None] * v_row + d[None, :] * v_col, mask=mine, other=0.0
    )
    dk = tl.zeros((BK, BD), tl.float32)
    dv = tl.zeros((BK, BD), tl.float32)
    start = 0
    while start < S_q:
        i = start + tl.arange(0, BQ).to(tl.int64)
        real = i < S_q
        tile = real[:, None] & (d < D)[None, :]
        q = tl.load(
            q_ptr + b * q_batch + h * q_head + i[:, None] * q_row + d[None, :] * q_col, mask=tile, other=0.0
        )
        do = tl.load(
            do_ptr + b * do_batch + h * do_head + i[:, None] * do_row + d[None, :] * do_col,
            mask=tile, other=0.0
        )
        lse = tl.load(lse_ptr + bh * S_q + i, mask=real, other=0.0)
        delta = tl.load(delta_ptr + bh * S_q + i, mask=real, other=0.0)
        pt = tl.exp(alpha * tl.dot(k, tl.trans(q), input_precision="ieee") - lse[None, :])  # (BK, BQ)
        dv = tl.dot(pt.to(do.dtype), do, acc=dv, input_precision="ieee")
        dst = pt * (tl.dot(v, tl.trans(do), input_precision="ieee") - delta[None, :])
        dk = tl.dot(dst.to(q.dtype), q, acc=dk, input_precision="ieee")
        start += BQ
    tl.store(dk_ptr + b * dk_batch + h * dk_head + j[:, None] * dk_row + d[None, :] * dk_col,
             (alpha * dk).to(dk_ptr.dtype.element_ty), mask=mine)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + j[:, None] * dv_row + d[None, :] * dv_col,
             dv.to(dv_ptr.dtype.element_ty), mask=mine)

def dkv_kernel(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    T = block or 32
    dkv_transposed[(B * H, triton.cdiv(S_k, T))](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BQ=T, BK=T, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
