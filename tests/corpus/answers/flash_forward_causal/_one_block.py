# part: a text that answers include

@triton.jit
def one_block(block, bh, Q, K, V, O, L, alpha, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    i, d = block * BM + tl.arange(0, BM), tl.arange(0, BD)
    in_q = (i < M)[:, None] & (d < D)[None, :]
    q = tl.load(Q + (bh * M + i)[:, None] * D + d[None, :], mask=in_q, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    for j0 in range(0, tl.maximum(0, tl.minimum(N, (block + 1) * BM + N - M)), BN):
        j = j0 + tl.arange(0, BN)
        in_k = (j < N)[:, None] & (d < D)[None, :]
        k = tl.load(K + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        v = tl.load(V + (bh * N + j)[:, None] * D + d[None, :], mask=in_k, other=0.0)
        s = alpha * tl.dot(q, tl.trans(k), input_precision="ieee")
        s = tl.where((j < N)[None, :] & (j[None, :] <= i[:, None] + N - M), s, float("-inf"))
        new = tl.maximum(top, tl.max(s, 1))
        at = tl.where(new == float("-inf"), 0.0, new)
        shrink, p = tl.exp(top - at), tl.exp(s - at[:, None])
        total = total * shrink + tl.sum(p, 1)
        acc = acc * shrink[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        top = new
    tl.store(O + (bh * M + i)[:, None] * D + d[None, :], acc / tl.where(total == 0.0, 1.0, total)[:, None], mask=in_q)
    tl.store(L + bh * M + i, top + tl.log(total), mask=i < M)
