# label: right
# title: unseen: a program per tile of keys, atomic additions to dQ in fp32

@triton.jit
def dq_from_keys(
    Q, K, V, dO, Lse, Delta, dQ, scale, H, Sq, Sk, D,
    qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, gb, gh, gm, gd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    # each program keeps one tile of K and V, goes over all queries, and adds to dQ as in Algorithm 2
    bh = tl.program_id(0).to(tl.int64)
    b, h = bh // H, bh % H
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    d = tl.arange(0, BD)
    n_ok = (n < Sk)[:, None] & (d < D)[None, :]
    k = tl.load(K + b * kb + h * kh + n[:, None] * kn + d[None, :] * kd, mask=n_ok, other=0.0)
    v = tl.load(V + b * vb + h * vh + n[:, None] * vn + d[None, :] * vd, mask=n_ok, other=0.0)
    for m0 in range(0, Sq, BM):
        m = m0 + tl.arange(0, BM)
        m_ok = (m < Sq)[:, None] & (d < D)[None, :]
        q = tl.load(Q + b * qb + h * qh + m[:, None] * qm + d[None, :] * qd, mask=m_ok, other=0.0)
        g = tl.load(dO + b * gb + h * gh + m[:, None] * gm + d[None, :] * gd, mask=m_ok, other=0.0)
        lse = tl.load(Lse + bh * Sq + m, mask=m < Sq, other=0.0)
        delta = tl.load(Delta + bh * Sq + m, mask=m < Sq, other=0.0)
        s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        p = tl.exp(tl.where((n < Sk)[None, :], s, float("-inf")) - lse[:, None])
        dp = tl.dot(g, tl.trans(v), input_precision="ieee")
        ds = p * (dp - delta[:, None]) * scale
        part = tl.dot(ds, k.to(tl.float32), input_precision="ieee")
        tl.atomic_add(dQ + (bh * Sq + m[:, None]) * D + d[None, :], part, mask=m_ok)


def dq_kernel(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    delta = torch.einsum("bhsd,bhsd->bhs", o.float(), do.float()).contiguous()
    dq = torch.zeros((B, H, Sq, D), dtype=torch.float32, device=q.device)
    dq_from_keys[(B * H, triton.cdiv(Sk, 32))](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=16, BN=32, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq.to(q.dtype)
