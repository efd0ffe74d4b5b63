# label: wrong
# title: unseen: a crossed tile in the unmasked phase
# says: The unmasked phase is rounded up: it takes the tile that crosses the diagonal, without a mask.
# names: leak from the future; first divergence; only whole tiles are hidden

@triton.jit
def scan_keys(
    acc, l, m, q, K, V, lo, hi, i, off, Sk, D, skn, skd, svn, svd, scale,
    DIAGONAL: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for j0 in range(lo, hi, BN):
        j = j0 + tl.arange(0, BN)
        ok = (j < Sk)[:, None] & (d < D)[None, :]
        k = tl.load(K + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
        v = tl.load(V + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
        x = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        if DIAGONAL:
            x = tl.where((j < Sk)[None, :] & (j[None, :] <= i[:, None] + off), x, float("-inf"))
        top = tl.maximum(m, tl.max(x, 1))
        safe = tl.where(top == float("-inf"), 0.0, top)
        w = tl.exp(x - safe[:, None])
        c = tl.exp(m - safe)
        l = c * l + tl.sum(w, 1)
        acc = c[:, None] * acc + tl.dot(w.to(v.dtype), v, input_precision="ieee")
        m = top
    return acc, l, m


@triton.jit
def fwd_two_phases(
    Q, K, V, O, LSE, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sob, soh, som, sod,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i0 = tl.program_id(0) * BM
    i = i0 + tl.arange(0, BM)
    d = tl.arange(0, BD)
    inside = (i < Sq)[:, None] & (d < D)[None, :]
    q = tl.load(Q + b * sqb + h * sqh + i[:, None] * sqm + d[None, :] * sqd, mask=inside, other=0.0)
    K += b * skb + h * skh
    V += b * svb + h * svh
    off = Sk - Sq
    whole = tl.cdiv(tl.maximum(i0 + off + 1, 0), BN) * BN  # tiles that every query of the block sees
    end = tl.minimum(Sk, i0 + BM + off)
    acc = tl.zeros([BM, BD], tl.float32)
    l = tl.zeros([BM], tl.float32)
    m = tl.full([BM], float("-inf"), tl.float32)
    acc, l, m = scan_keys(
        acc, l, m, q, K, V, 0, whole, i, off, Sk, D, skn, skd, svn, svd, scale, False, BN, BD
    )
    acc, l, m = scan_keys(
        acc, l, m, q, K, V, whole, end, i, off, Sk, D, skn, skd, svn, svd, scale, True, BN, BD
    )
    out = acc / tl.where(l > 0, l, 1.0)[:, None]
    tl.store(
        O + b * sob + h * soh + i[:, None] * som + d[None, :] * sod, out.to(O.dtype.element_ty), mask=inside
    )
    tl.store(LSE + bh * Sq + i, m + tl.log(l), mask=i < Sq)


def flash_forward_causal(q, k, v, alpha):
    B, H, Sq, D = q.shape
    o = torch.empty((B, H, Sq, D), dtype=q.dtype, device=q.device)
    lse = torch.empty((B, H, Sq), dtype=torch.float32, device=q.device)
    fwd_two_phases[(triton.cdiv(Sq, 32), B * H)](
        q, k, v, o, lse, alpha, H, Sq, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
