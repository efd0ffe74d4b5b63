# label: right
# title: starts exactly at the first query, last tile first

from flashlearn.kernels.delta import delta_preprocess

@triton.jit
def dkv_from_below(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    b = (tl.program_id(0) // H).to(tl.int64)
    h = (tl.program_id(0) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    do_ptr += b * do_batch + h * do_head
    lse_ptr += tl.program_id(0).to(tl.int64) * S_q
    delta_ptr += tl.program_id(0).to(tl.int64) * S_q
    cols = tl.program_id(1).to(tl.int64) * BK + tl.arange(0, BK)
    d = tl.arange(0, BD)
    own = (cols < S_k)[:, None] & (d < D)[None, :]
    k = tl.load(
        k_ptr + b * k_batch + h * k_head + cols[:, None] * k_row + d[None, :] * k_col, mask=own, other=0.0
    )
    v = tl.load(
        v_ptr + b * v_batch + h * v_head + cols[:, None] * v_row + d[None, :] * v_col, mask=own, other=0.0
    )
    dk = tl.zeros((BK, BD), tl.float32)
    dv = tl.zeros((BK, BD), tl.float32)
    shift = S_k - S_q
    first = tl.maximum(tl.program_id(1) * BK - shift, 0)  # tiles are counted from here, not from 0
    tiles = tl.cdiv(S_q - first, BQ)
    for t in range(0, tiles):
        rows = first + (tiles - 1 - t) * BQ + tl.arange(0, BQ).to(tl.int64)
        live = rows < S_q
        q = tl.load(
            q_ptr + rows[:, None] * q_row + d[None, :] * q_col,
            mask=live[:, None] & (d < D)[None, :], other=0.0
        )
        do = tl.load(
            do_ptr + rows[:, None] * do_row + d[None, :] * do_col,
            mask=live[:, None] & (d < D)[None, :], other=0.0
        )
        lse = tl.load(lse_ptr + rows, mask=live, other=0.0)
        delta = tl.load(delta_ptr + rows, mask=live, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        counts = live[:, None] & (cols[None, :] <= rows[:, None] + shift)
        p = tl.where(counts, tl.exp(s - lse[:, None]), 0.0)
        dp = tl.dot(do, tl.trans(v), input_precision="ieee")
        ds = tl.where(counts, p * (dp - delta[:, None]), 0.0)
        dv += tl.dot(tl.trans(p.to(do.dtype)), do, input_precision="ieee")
        dk += tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    dk *= alpha
    tl.store(dk_ptr + b * dk_batch + h * dk_head + cols[:, None] * dk_row + d[None, :] * dk_col,
             dk.to(dk_ptr.dtype.element_ty), mask=own)
    tl.store(dv_ptr + b * dv_batch + h * dv_head + cols[:, None] * dv_row + d[None, :] * dv_col,
             dv.to(dv_ptr.dtype.element_ty), mask=own)

def dkv_kernel_causal(q, k, v, o, do, lse, alpha, block=0):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    T = block or 32
    dkv_from_below[(B * H, triton.cdiv(S_k, T))](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BQ=T, BK=T, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
