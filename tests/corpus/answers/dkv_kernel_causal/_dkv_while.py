# part: a text that answers change

@triton.jit
def dkv_while(
    q_p, k_p, v_p, g_p, lse_p, delta_p, dk_p, dv_p, scale, heads, n_q, n_k, dim,
    qb, qh, qs, qd, kb, kh, ks, kd, vb, vh, vs, vd, gb, gh, gs, gd, xb, xh, xs, xd, yb, yh, ys, yd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bz = tl.program_id(0).to(tl.int64)
    b, h = bz // heads, bz % heads
    j0 = tl.program_id(1) * BN
    k_blk = tl.make_block_ptr(k_p + b * kb + h * kh, (n_k, dim), (ks, kd), (j0, 0), (BN, BD), (1, 0))
    v_blk = tl.make_block_ptr(v_p + b * vb + h * vh, (n_k, dim), (vs, vd), (j0, 0), (BN, BD), (1, 0))
    k = tl.load(k_blk, boundary_check=(0, 1), padding_option="zero")
    v = tl.load(v_blk, boundary_check=(0, 1), padding_option="zero")
    j = j0 + tl.arange(0, BN)
    off = n_k - n_q
    i0 = tl.maximum(0, j0 - off) // BM * BM
    q_blk = tl.make_block_ptr(q_p + b * qb + h * qh, (n_q, dim), (qs, qd), (i0, 0), (BM, BD), (1, 0))
    g_blk = tl.make_block_ptr(g_p + b * gb + h * gh, (n_q, dim), (gs, gd), (i0, 0), (BM, BD), (1, 0))
    dk = tl.zeros((BN, BD), tl.float32)
    dv = tl.zeros((BN, BD), tl.float32)
    while i0 < n_q:
        i = i0 + tl.arange(0, BM)
        q = tl.load(q_blk, boundary_check=(0, 1), padding_option="zero")
        g = tl.load(g_blk, boundary_check=(0, 1), padding_option="zero")
        lse = tl.load(lse_p + bz * n_q + i, mask=i < n_q, other=float("inf"))
        lse = tl.where(lse == float("-inf"), float("inf"), lse)
        delta = tl.load(delta_p + bz * n_q + i, mask=i < n_q, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where(j[None, :] <= i[:, None] + off, s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv = tl.dot(tl.trans(p).to(g.dtype), g, dv, input_precision="ieee")
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None])
        dk = tl.dot(tl.trans(ds).to(q.dtype), q, dk, input_precision="ieee")
        q_blk = tl.advance(q_blk, (BM, 0))
        g_blk = tl.advance(g_blk, (BM, 0))
        i0 += BM
    dk = dk * scale
    dk_blk = tl.make_block_ptr(dk_p + b * xb + h * xh, (n_k, dim), (xs, xd), (j0, 0), (BN, BD), (1, 0))
    dv_blk = tl.make_block_ptr(dv_p + b * yb + h * yh, (n_k, dim), (ys, yd), (j0, 0), (BN, BD), (1, 0))
    tl.store(dk_blk, dk.to(dk_p.dtype.element_ty), boundary_check=(0, 1))
    tl.store(dv_blk, dv.to(dv_p.dtype.element_ty), boundary_check=(0, 1))


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    batch, heads, n_q, dim = q.shape
    n_k = k.shape[2]
    delta = (o.float() * do.float()).sum(dim=3).contiguous()
    dk, dv = k.new_empty(k.shape), v.new_empty(v.shape)
    dkv_while[(batch * heads, triton.cdiv(n_k, 16))](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, heads, n_q, n_k, dim,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dk.stride(), *dv.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(dim)),
    )
    return dk, dv
