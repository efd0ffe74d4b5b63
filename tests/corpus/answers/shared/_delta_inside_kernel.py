# part: a text that answers include

@triton.jit
def delta_inside_kernel(q, k, v, o, g, lse, dq, a, Sq, Sk, D, B: tl.constexpr, BD: tl.constexpr, causal: tl.constexpr):
    # g is dO. Pre-scaled q, everything widened to fp32, delta from O and g in the kernel, keys backwards.
    bh = tl.program_id(0)
    i, d = tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, BD)
    ok = (i < Sq)[:, None] & (d < D)[None, :]
    at = (bh * Sq + i)[:, None] * D + d[None, :]
    qi = tl.load(q + at, mask=ok, other=0.0).to(tl.float32) * a
    gi = tl.load(g + at, mask=ok, other=0.0).to(tl.float32)
    delta = tl.sum(gi * tl.load(o + at, mask=ok, other=0.0).to(tl.float32), 1)
    L = tl.load(lse + bh * Sq + i, mask=i < Sq, other=float("inf"))
    L = tl.where(L == float("-inf"), float("inf"), L)
    grad = tl.zeros((B, BD), tl.float32)
    tiles = tl.cdiv(Sk, B)
    for back in range(tiles):
        j = (tiles - 1 - back) * B + tl.arange(0, B)
        if not causal or (tiles - 1 - back) * B < (tl.program_id(1) + 1) * B + Sk - Sq:
            kv = (bh * Sk + j)[:, None] * D + d[None, :]
            ok_j = (j < Sk)[:, None] & (d < D)[None, :]
            kj = tl.load(k + kv, mask=ok_j, other=0.0).to(tl.float32)
            vj = tl.load(v + kv, mask=ok_j, other=0.0).to(tl.float32)
            s = tl.dot(qi, tl.trans(kj), input_precision="ieee")
            see = (j < Sk)[None, :]
            if causal:
                see = see & (j[None, :] <= i[:, None] + Sk - Sq)
            p = tl.exp(tl.where(see, s, float("-inf")) - L[:, None])
            ds = p * tl.dot(gi, tl.trans(vj), input_precision="ieee") - p * delta[:, None]
            grad = tl.dot(ds, kj, grad, input_precision="ieee")
    tl.store(dq + at, grad * a, mask=ok)
