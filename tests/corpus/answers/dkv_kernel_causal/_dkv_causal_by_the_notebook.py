# part: a text that answers change

from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def flash_dkv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, alpha, H, S_q, S_k, D,
    q_batch, q_head, q_row, q_col, k_batch, k_head, k_row, k_col, v_batch, v_head, v_row, v_col,
    do_batch, do_head, do_row, do_col, dk_batch, dk_head, dk_row, dk_col, dv_batch, dv_head, dv_row, dv_col,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
    q_ptr += b * q_batch + h * q_head
    k_ptr += b * k_batch + h * k_head
    v_ptr += b * v_batch + h * v_head
    do_ptr += b * do_batch + h * do_head
    dk_ptr += b * dk_batch + h * dk_head
    dv_ptr += b * dv_batch + h * dv_head
    lse_ptr += tl.program_id(1).to(tl.int64) * S_q
    delta_ptr += tl.program_id(1).to(tl.int64) * S_q

    columns = tl.program_id(0).to(tl.int64) * BLOCK_K + tl.arange(0, BLOCK_K)
    queries = tl.arange(0, BLOCK_Q).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    keep = (columns < S_k)[:, None] & (d < D)[None, :]
    kk = tl.load(k_ptr + columns[:, None] * k_row + d[None, :] * k_col, mask=keep, other=0.0)
    vv = tl.load(v_ptr + columns[:, None] * v_row + d[None, :] * v_col, mask=keep, other=0.0)
    gk = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    gv = tl.zeros((BLOCK_K, BLOCK_D), tl.float32)
    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))
    first = first // BLOCK_Q * BLOCK_Q
    for start in range(first, S_q, BLOCK_Q):
        rows = start + queries
        live = rows < S_q
        ok = live[:, None] & (d < D)[None, :]
        qq = tl.load(q_ptr + rows[:, None] * q_row + d[None, :] * q_col, mask=ok, other=0.0)
        oo = tl.load(do_ptr + rows[:, None] * do_row + d[None, :] * do_col, mask=ok, other=0.0)
        ll = tl.load(lse_ptr + rows, mask=live, other=0.0)
        dd = tl.load(delta_ptr + rows, mask=live, other=0.0)
        ss = alpha * tl.dot(qq, tl.trans(kk), input_precision="ieee")
        pp = tl.exp(ss - ll[:, None])
        pp = tl.where(live[:, None] & (columns[None, :] <= rows[:, None] + S_k - S_q), pp, 0.0)
        gv += tl.dot(tl.trans(pp).to(oo.dtype), oo, input_precision="ieee")
        dp = tl.dot(oo, tl.trans(vv), input_precision="ieee")
        ds = pp * (dp - dd[:, None])
        gk += tl.dot(tl.trans(ds).to(qq.dtype), qq, input_precision="ieee")
    gk = gk * alpha
    at_k = columns[:, None] * dk_row + d[None, :] * dk_col
    at_v = columns[:, None] * dv_row + d[None, :] * dv_col
    tl.store(dk_ptr + at_k, gk.to(dk_ptr.dtype.element_ty), mask=keep)
    tl.store(dv_ptr + at_v, gv.to(dv_ptr.dtype.element_ty), mask=keep)


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    flash_dkv_kernel[(triton.cdiv(S_k, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BLOCK_Q=32, BLOCK_K=32, BLOCK_D=BLOCK_D,
    )
    return dk, dv
