# label: wrong
# title: unseen: the last phase ends at the square's diagonal
# says: The loop's end lacks S_k - S_q, which the mask has: with more keys than queries the last are left out.
# names: loop end without S_k − S_q

from flashlearn.kernels.delta import delta_preprocess


@triton.jit
def _dq_part(
    dq, q, do, lse, delta, K, V, lo, hi, i, off, Sk, D, skn, skd, svn, svd, scale,
    EDGE: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    d = tl.arange(0, BD)
    for j0 in range(lo, hi, BN):
        j = j0 + tl.arange(0, BN)
        ok = (j[:, None] < Sk) & (d[None, :] < D)
        k = tl.load(K + j[:, None] * skn + d[None, :] * skd, mask=ok, other=0.0)
        v = tl.load(V + j[:, None] * svn + d[None, :] * svd, mask=ok, other=0.0)
        s = scale * tl.dot(q, tl.trans(k), input_precision="ieee")
        if EDGE:
            s = tl.where((j[None, :] < Sk) & (i[:, None] + off >= j[None, :]), s, float("-inf"))
        p = tl.exp(s - lse[:, None])
        ds = p * (tl.dot(do, tl.trans(v), input_precision="ieee") - delta[:, None])
        dq += tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    return dq


@triton.jit
def dq_two_phases(
    Q, K, V, DO, LSE, DELTA, DQ, scale, H, Sq, Sk, D,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd, sgb, sgh, sgm, sgd, sxb, sxh, sxm, sxd,
    BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
):
    bh = tl.program_id(1).to(tl.int64)
    b, h = bh // H, bh % H
    i0 = tl.program_id(0) * BM
    i = i0 + tl.arange(0, BM)
    d = tl.arange(0, BD)
    ok = (i[:, None] < Sq) & (d[None, :] < D)
    q = tl.load(Q + b * sqb + h * sqh + i[:, None] * sqm + d[None, :] * sqd, mask=ok, other=0.0)
    do = tl.load(DO + b * sgb + h * sgh + i[:, None] * sgm + d[None, :] * sgd, mask=ok, other=0.0)
    lse = tl.load(LSE + bh * Sq + i, mask=i < Sq, other=0.0)
    lse = tl.where(lse == float("-inf"), 0.0, lse)  # nothing seen: all scores are -inf anyway
    delta = tl.load(DELTA + bh * Sq + i, mask=i < Sq, other=0.0)
    K += b * skb + h * skh
    V += b * svb + h * svh
    off = Sk - Sq
    full = tl.maximum(0, i0 + off + 1) // BN * BN
    stop = tl.minimum(Sk, i0 + BM)
    dq = tl.zeros([BM, BD], tl.float32)
    dq = _dq_part(
        dq, q, do, lse, delta, K, V, 0, full, i, off, Sk, D, skn, skd, svn, svd, scale, False, BN, BD
    )
    dq = _dq_part(
        dq, q, do, lse, delta, K, V, full, stop, i, off, Sk, D, skn, skd, svn, svd, scale, True, BN, BD
    )
    dq = dq * scale
    tl.store(
        DQ + b * sxb + h * sxh + i[:, None] * sxm + d[None, :] * sxd, dq.to(DQ.dtype.element_ty), mask=ok
    )


def dq_kernel_causal(q, k, v, o, do, lse, alpha):
    B, H, Sq, D = q.shape
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, Sq, D), dtype=q.dtype, device=q.device)
    dq_two_phases[(triton.cdiv(Sq, 32), B * H)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, Sq, k.shape[2], D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BM=32, BN=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return dq
