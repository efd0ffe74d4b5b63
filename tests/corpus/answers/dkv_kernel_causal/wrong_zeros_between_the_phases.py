# label: wrong
# title: unseen: zeros between the phases
# says: The second phase starts from zeros again: what the first found at the diagonal is lost.
# names: loop starts one block late

from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def _add_queries(
    dk, dv, k, v, Q, G, LSE, DELTA, lo, hi, j, off, Sq, D, sqm, sqd, sgm, sgd, scale,
    EDGE: tl.constexpr, BM: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for i0 in range(lo, hi, BM):
        i = i0 + tl.arange(0, BM)
        ok = (i[:, None] < Sq) & (d[None, :] < D)
        q = tl.load(Q + i[:, None] * sqm + d[None, :] * sqd, mask=ok, other=0.0)
        g = tl.load(G + i[:, None] * sgm + d[None, :] * sgd, mask=ok, other=0.0)
        lse = tl.load(LSE + i, mask=i < Sq, other=float("inf"))
        delta = tl.load(DELTA + i, mask=i < Sq, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        if EDGE:
            lse = tl.where(lse == float("-inf"), float("inf"), lse)
            s = tl.where(i[:, None] + off >= j[None, :], s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        dv += tl.dot(tl.trans(p).to(g.dtype), g, input_precision="ieee")
        ds = p * (tl.dot(g, tl.trans(v), input_precision="ieee") - delta[:, None])
        dk += tl.dot(tl.trans(ds).to(q.dtype), q, input_precision="ieee")
    return dk, dv


@triton.jit
def dkv_two_phases(
    Q, K, V, G, LSE, DELTA, DK, DV, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sgb, sgh, sgm, sgd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    j0 = tl.program_id(0) * BN
    j = j0 + tl.arange(0, BN)
    d = tl.arange(0, BD)
    ok = (j[:, None] < Sk) & (d[None, :] < D)
    k = tl.load(K + b * skb + h * skh + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
    v = tl.load(V + b * svb + h * svh + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
    Q += b * sqb + h * sqh
    G += b * sgb + h * sgh
    LSE += bh * Sq
    DELTA += bh * Sq
    off = Sk - Sq
    lo = tl.maximum(0, j0 - off) // BM * BM  # the first query that sees a key of the block
    mid = (tl.maximum(0, j0 + BN - 1 - off) + BM - 1) // BM * BM  # from here on all keys are seen
    mid = tl.minimum(mid, (Sq + BM - 1) // BM * BM)
    dk = tl.zeros([BN, BD], tl.float32)
    dv = tl.zeros([BN, BD], tl.float32)
    dk, dv = _add_queries(
        dk, dv, k, v, Q, G, LSE, DELTA, lo, mid, j, off, Sq, D, sqm, sqd, sgm, sgd, scale, True, BM, BD
    )
    # the rest needs no mask
    dk = tl.zeros([BN, BD], tl.float32)
    dv = tl.zeros([BN, BD], tl.float32)
    dk, dv = _add_queries(
        dk, dv, k, v, Q, G, LSE, DELTA, mid, Sq, j, off, Sq, D, sqm, sqd, sgm, sgd, scale, False, BM, BD
    )
    at = (bh * Sk + j[:, None]) * D + d[None, :]
    tl.store(DK + at, (scale * dk).to(DK.dtype.element_ty), mask=ok)
    tl.store(DV + at, dv.to(DV.dtype.element_ty), mask=ok)


def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    Sk = k.shape[2]
    dk = torch.empty((B, H, Sk, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, Sk, D), dtype=v.dtype, device=v.device)
    dkv_two_phases[(triton.cdiv(Sk, 16), B * H)](
        q, k, v, do, lse.contiguous(), delta_preprocess(o, do), dk, dv, alpha, H, Sq, Sk, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BM=16, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return dk, dv
