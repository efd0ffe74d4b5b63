# label: right
# title: one query per program, tl.sum of products instead of tl.dot

@triton.jit
def no_dot_kernel(
    q, k, v, o, lse, a, H, M, N, D, qb, qh, qm, qd, kb, kh, kn, kd, vb, vh, vn, vd, W: tl.constexpr
):
    # one query per program, sums instead of dots
    i, bh = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64)
    b, h, d = bh // H, bh % H, tl.arange(0, W)
    qi = tl.load(q + b * qb + h * qh + i * qm + d * qd, mask=d < D, other=0.0).to(tl.float32)
    m = -float("inf")
    l = 0.0
    acc = tl.zeros((W,), tl.float32)
    for j0 in range(0, N, 16):
        j = j0 + tl.arange(0, 16)
        ok = (j < N)[:, None] & (d < D)[None, :]
        kj = tl.load(k + b * kb + h * kh + j[:, None] * kn + d[None, :] * kd, mask=ok, other=0.0).to(
            tl.float32
        )
        vj = tl.load(v + b * vb + h * vh + j[:, None] * vn + d[None, :] * vd, mask=ok, other=0.0).to(
            tl.float32
        )
        s = tl.where(j < N, tl.sum(kj * qi[None, :], 1) * a, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, 0))
        r = tl.exp(m - m_new)
        p = tl.exp(s - m_new)
        l = l * r + tl.sum(p, 0)
        acc = acc * r + tl.sum(p[:, None] * vj, 0)
        m = m_new
    tl.store(o + (bh * M + i) * D + d, acc / l, mask=d < D)
    tl.store(lse + bh * M + i, m + tl.log(l))


def one_query_at_a_time(q, k, v, alpha):
    B, H, M, D = q.shape
    o, lse = torch.empty((B, H, M, D), dtype=q.dtype), torch.empty(B, H, M)
    no_dot_kernel[(B * H, M)](
        q, k, v, o, lse, alpha, H, M, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(),
        W=triton.next_power_of_2(D),
    )
    return o, lse
