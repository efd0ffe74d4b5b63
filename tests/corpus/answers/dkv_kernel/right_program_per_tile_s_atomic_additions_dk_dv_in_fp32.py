# label: right
# title: unseen: a program per tile of S, atomic additions to dK and dV in fp32

@triton.jit
def one_tile_kernel(
    Q, K, V, G, Lse, Delta, DK, DV, scale, H, Sq, Sk, D,
    qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, gb, gh, gm, gd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    # a program for each tile of S; what it finds is added to the rows of dK and dV
    j = tl.program_id(2) * BN + tl.arange(0, BN)
    i = tl.program_id(1) * BM + tl.arange(0, BM)
    bh = tl.program_id(0).to(tl.int64)
    b, h = bh // H, bh % H
    d = tl.arange(0, BD)
    j_ok = (j[:, None] < Sk) & (d[None, :] < D)
    i_ok = (i[:, None] < Sq) & (d[None, :] < D)
    k = tl.load(K + b * kb + h * kh + j[:, None] * kn + d[None, :] * kd, mask=j_ok, other=0.0)
    v = tl.load(V + b * vb + h * vh + j[:, None] * vn + d[None, :] * vd, mask=j_ok, other=0.0)
    q = tl.load(Q + b * qb + h * qh + i[:, None] * qm + d[None, :] * qd, mask=i_ok, other=0.0)
    g = tl.load(G + b * gb + h * gh + i[:, None] * gm + d[None, :] * gd, mask=i_ok, other=0.0)
    lse = tl.load(Lse + bh * Sq + i, mask=i < Sq, other=float("inf"))
    delta = tl.load(Delta + bh * Sq + i, mask=i < Sq, other=0.0)
    pt = tl.exp(tl.dot(k, tl.trans(q), input_precision="ieee") * scale - lse[None, :])
    dst = pt * (tl.dot(v, tl.trans(g), input_precision="ieee") - delta[None, :])
    add_v = tl.dot(pt, g.to(tl.float32), input_precision="ieee")
    add_k = tl.dot(dst, q.to(tl.float32), input_precision="ieee") * scale
    at = (bh * Sk + j[:, None]) * D + d[None, :]
    tl.atomic_add(DV + at, add_v, mask=j_ok)
    tl.atomic_add(DK + at, add_k, mask=j_ok)


def dkv_kernel(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    delta = (o.double() * do.double()).sum(-1).float()
    dk = torch.zeros((B, H, Sk, D), dtype=torch.float32, device=q.device)
    dv = torch.zeros((B, H, Sk, D), dtype=torch.float32, device=q.device)
    one_tile_kernel[(B * H, triton.cdiv(Sq, 32), triton.cdiv(Sk, 32))](
        q, k, v, do, lse.contiguous(), delta, dk, dv, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=32, BN=32, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk.to(k.dtype), dv.to(v.dtype)
