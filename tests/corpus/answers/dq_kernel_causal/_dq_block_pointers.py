# part: a text that answers change

from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def dq_blocks(
    q_p, k_p, v_p, g_p, lse_p, delta_p, dq_p, scale, n_q, n_k, dim,
    qb, qh, qs, qd, kb, kh, ks, kd, vb, vh, vs, vd, gb, gh, gs, gd, xb, xh, xs, xd,
    CAUSAL: tl.constexpr, TQ: tl.constexpr, TK: tl.constexpr, TD: tl.constexpr,
):
    bi = tl.program_id(0).to(tl.int64)
    hi = tl.program_id(1).to(tl.int64)
    q_start = tl.program_id(2) * TQ
    q_blk = tl.make_block_ptr(q_p + bi * qb + hi * qh, (n_q, dim), (qs, qd), (q_start, 0), (TQ, TD), (1, 0))
    g_blk = tl.make_block_ptr(g_p + bi * gb + hi * gh, (n_q, dim), (gs, gd), (q_start, 0), (TQ, TD), (1, 0))
    x_blk = tl.make_block_ptr(dq_p + bi * xb + hi * xh, (n_q, dim), (xs, xd), (q_start, 0), (TQ, TD), (1, 0))
    k_blk = tl.make_block_ptr(k_p + bi * kb + hi * kh, (n_k, dim), (ks, kd), (0, 0), (TK, TD), (1, 0))
    v_blk = tl.make_block_ptr(v_p + bi * vb + hi * vh, (n_k, dim), (vs, vd), (0, 0), (TK, TD), (1, 0))
    q = tl.load(q_blk, boundary_check=(0, 1), padding_option="zero")
    g = tl.load(g_blk, boundary_check=(0, 1), padding_option="zero")
    i = q_start + tl.arange(0, TQ)
    head = (bi * tl.num_programs(1) + hi) * n_q
    lse_r = tl.load(lse_p + head + i, mask=i < n_q, other=0.0)
    lse_r = tl.where(lse_r == float("-inf"), float("inf"), lse_r)
    delta_r = tl.load(delta_p + head + i, mask=i < n_q, other=0.0)
    dq = tl.zeros((TQ, TD), tl.float32)
    last = n_k
    if CAUSAL:
        last = tl.minimum(n_k, q_start + TQ + n_k - n_q)
    for k_start in range(0, last, TK):
        j = k_start + tl.arange(0, TK)
        k = tl.load(k_blk, boundary_check=(0, 1), padding_option="zero")
        v = tl.load(v_blk, boundary_check=(0, 1), padding_option="zero")
        vis = (j < n_k)[None, :]
        if CAUSAL:
            vis = vis & (j[None, :] - i[:, None] <= n_k - n_q)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        p = tl.exp(s - lse_r[:, None])
        p = tl.where(vis, p, 0.0)
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta_r[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
        k_blk = tl.advance(k_blk, (TK, 0))
        v_blk = tl.advance(v_blk, (TK, 0))
    tl.store(x_blk, (scale * dq).to(dq_p.dtype.element_ty), boundary_check=(0, 1))


def _launch(q, k, v, o, do, lse, alpha, causal):
    B, H, n_q, dim = q.shape
    dq = torch.empty((B, H, n_q, dim), dtype=q.dtype, device=q.device)
    dq_blocks[(B, H, triton.cdiv(n_q, 16))](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dq, alpha, n_q, k.shape[2], dim,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        CAUSAL=causal, TQ=16, TK=32, TD=max(16, triton.next_power_of_2(dim)),
    )
    return dq


def dq_kernel(q, k, v, o, do, lse, alpha):
    return _launch(q, k, v, o, do, lse, alpha, False)


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    return _launch(q, k, v, o, do, lse, alpha, True)
