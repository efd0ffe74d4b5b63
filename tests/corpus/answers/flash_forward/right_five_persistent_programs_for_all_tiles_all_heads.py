# label: right
# title: five persistent programs for all tiles of all heads, a helper for the online step

@triton.jit
def online_step(q, k, v, scale, keep, m, l, acc):
    s = tl.where(keep[None, :], tl.dot(q, tl.trans(k), input_precision="ieee") * scale, -float("inf"))
    m_next = tl.maximum(m, tl.max(s, axis=1))
    shrink = tl.exp(m - m_next)
    e = tl.exp(s - m_next[:, None])
    acc = tl.dot(e.to(v.dtype), v, acc * shrink[:, None], input_precision="ieee")
    return m_next, l * shrink + tl.sum(e, axis=1), acc


@triton.jit
def persistent_kernel(
    Q, K, V, O, LSE, scale, H, M, N, D, tiles,
    sqb, sqh, sqm, sqd, skb, skh, skn, skd, svb, svh, svn, svd,
    BLOCK: tl.constexpr, BD: tl.constexpr,
):
    per_head = tl.cdiv(M, BLOCK)
    d = tl.arange(0, BD)
    for tile in range(tl.program_id(0).to(tl.int64), tiles, tl.num_programs(0)):
        bh = tile // per_head
        b, h = bh // H, bh % H
        rows = (tile % per_head) * BLOCK + tl.arange(0, BLOCK)
        ok = (rows < M)[:, None] & (d < D)[None, :]
        q = tl.load(Q + b * sqb + h * sqh + rows[:, None] * sqm + d[None, :] * sqd, mask=ok, other=0.0)
        m = tl.full((BLOCK,), -float("inf"), tl.float32)
        l = tl.zeros((BLOCK,), tl.float32)
        acc = tl.zeros((BLOCK, BD), tl.float32)
        for j0 in range(0, N, BLOCK):
            cols = j0 + tl.arange(0, BLOCK)
            inside = (cols < N)[:, None] & (d < D)[None, :]
            k = tl.load(
                K + b * skb + h * skh + cols[:, None] * skn + d[None, :] * skd, mask=inside, other=0.0
            )
            v = tl.load(
                V + b * svb + h * svh + cols[:, None] * svn + d[None, :] * svd, mask=inside, other=0.0
            )
            m, l, acc = online_step(q, k, v, scale, cols < N, m, l, acc)
        tl.store(O + (bh * M + rows)[:, None] * D + d[None, :], acc / l[:, None], mask=ok)
        tl.store(LSE + bh * M + rows, m + tl.log(l), mask=rows < M)


def five_programs(q, k, v, alpha):
    B, H, M, D = q.shape
    o, lse = q.new_empty((B, H, M, D)), q.new_empty((B, H, M), dtype=torch.float32)
    persistent_kernel[(5,)](
        q, k, v, o, lse, alpha, H, M, k.size(2), D, B * H * triton.cdiv(M, 16),
        *q.stride(), *k.stride(), *v.stride(), BLOCK=16, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
