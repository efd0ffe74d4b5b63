# label: right
# title: pointers, natural exponentials, 448 instead of 256, V's scale on each product

@triton.jit
def eight_kernel(Q, K, V, QS, KS, VS, O, L, alpha, H, M, N, D,
                 qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd,
                 CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    i0 = tl.program_id(0) * BM
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i, d = i0 + tl.arange(0, BM), tl.arange(0, BD)
    q = tl.load(Q + b * qb + h * qh + i[:, None] * qm + d[None, :] * qd, mask=(i < M)[:, None] & (d < D)[None, :], other=0.0)
    qs = tl.load(QS + bh * tl.cdiv(M, 128) + i0 // 128)
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    stop = N
    if CAUSAL:
        stop = tl.minimum(N, tl.maximum(0, i0 + BM + N - M))
    for j0 in range(0, stop, BN):
        j = j0 + tl.arange(0, BN)
        ok = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + b * kb + h * kh + j[:, None].to(tl.int64) * kn + d[None, :] * kd, mask=ok, other=0.0)
        v = tl.load(V + b * vb + h * vh + j[:, None].to(tl.int64) * vn + d[None, :] * vd, mask=ok, other=0.0)
        ks = tl.load(KS + bh * tl.cdiv(N, 128) + j0 // 128)
        vs = tl.load(VS + bh * tl.cdiv(N, 128) + j0 // 128)
        s = tl.dot(q, tl.trans(k)) * (alpha * qs * ks)
        seen = (j < N)[None, :] & (i >= 0)[:, None]
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None] + N - M)
        s = tl.where(seen, s, float("-inf"))
        top = tl.maximum(m, tl.max(s, 1))
        base = tl.where(top == float("-inf"), 0.0, top)
        p = tl.exp(s - base[:, None])
        f = tl.exp(m - base)
        l = l * f + tl.sum(p, 1)
        p8 = (p * 448.0).to(V.dtype.element_ty)
        acc = acc * f[:, None] + tl.dot(p8, v) * (vs / 448.0)
        m = top
    l1 = tl.where(l == 0.0, 1.0, l)
    o = acc / l1[:, None]
    tl.store(O + (bh * M + i)[:, None] * D + d[None, :], o.to(O.dtype.element_ty), mask=(i < M)[:, None] & (d < D)[None, :])
    tl.store(L + bh * M + i, m + tl.log(l1), mask=i < M)


def eight(q, k, v, q_scale, k_scale, v_scale, causal, alpha):
    B, H, M, D = q.shape
    N = k.shape[2]
    o = torch.empty(B, H, M, D, dtype=torch.bfloat16, device=q.device)
    lse = torch.empty(B, H, M, dtype=torch.float32, device=q.device)
    BM, BN = 64, 64
    eight_kernel[(triton.cdiv(M, BM), B * H)](
        q, k, v, q_scale, k_scale, v_scale, o, lse, alpha, H, M, N, D, *q.stride(), *k.stride(), *v.stride(),
        CAUSAL=causal, BM=BM, BN=BN, BD=max(32, triton.next_power_of_2(D)))
    return o, lse
