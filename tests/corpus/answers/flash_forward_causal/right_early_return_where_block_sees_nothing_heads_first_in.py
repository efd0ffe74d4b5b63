# label: right
# title: an early return where a block sees nothing, heads first in a 3-D grid, 16 × 32, 0/0 under tl.where

@triton.jit
def early_exit_kernel(
    Q, K, V, O, LSE, alpha, H, Tq, Tk, D, qb, qh, qt, qd, kb, kh, kt, kd, vb, vh, vt, vd, ob, oh, ot, od,
    BQ: tl.constexpr, BK: tl.constexpr, BD: tl.constexpr,
):
    h, b = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    pid = tl.num_programs(2) - 1 - tl.program_id(2).to(tl.int64)  # the longest rows first
    rows, d = pid * BQ + tl.arange(0, BQ), tl.arange(0, BD)
    row_ok, d_ok = rows < Tq, d < D
    o_at = O + b * ob + h * oh + rows[:, None] * ot + d[None, :] * od
    lse_at = LSE + (b * H + h) * Tq + rows
    limit = rows + (Tk - Tq)
    end = tl.max(tl.where(row_ok, limit, -1), axis=0) + 1
    if end <= 0:  # nobody in this block sees anything
        tl.store(o_at, tl.zeros((BQ, BD), tl.float32), mask=row_ok[:, None] & d_ok[None, :])
        tl.store(lse_at, tl.full((BQ,), float("-inf"), tl.float32), mask=row_ok)
        return
    q = tl.load(Q + b * qb + h * qh + rows[:, None] * qt + d[None, :] * qd, mask=row_ok[:, None] & d_ok[None, :], other=0.0)
    m = tl.full((BQ,), float("-inf"), tl.float32)
    z = tl.zeros((BQ,), tl.float32)
    y = tl.zeros((BQ, BD), tl.float32)
    for t in range(tl.cdiv(end, BK)):
        c = t * BK + tl.arange(0, BK)
        ok = (c < Tk)[:, None] & d_ok[None, :]
        k = tl.load(K + b * kb + h * kh + c[:, None] * kt + d[None, :] * kd, mask=ok, other=0.0)
        v = tl.load(V + b * vb + h * vh + c[:, None] * vt + d[None, :] * vd, mask=ok, other=0.0)
        s = tl.where(c[None, :] <= limit[:, None], alpha * tl.dot(q, k.T, input_precision="ieee"), float("-inf"))
        s = tl.where((c < Tk)[None, :], s, float("-inf"))
        m2 = tl.maximum(m, tl.max(s, 1))
        base = tl.where(m2 > float("-inf"), m2, 0.0)
        p = tl.exp(s - base[:, None])
        f = tl.exp(m - base)
        z = z * f + tl.sum(p, 1)
        y = y * f[:, None] + tl.dot(p.to(v.dtype), v, input_precision="ieee")
        m = m2
    tl.store(o_at, tl.where(z[:, None] > 0, y / z[:, None], 0.0), mask=row_ok[:, None] & d_ok[None, :])
    tl.store(lse_at, m + tl.log(z), mask=row_ok)


def early_return(q, k, v, alpha):
    B, H, Tq, D = q.shape
    o, lse = torch.empty(B, H, Tq, D, dtype=q.dtype), torch.empty(B, H, Tq)
    early_exit_kernel[(H, B, triton.cdiv(Tq, 16))](
        q, k, v, o, lse, alpha, H, Tq, k.shape[2], D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        BQ=16, BK=32, BD=max(16, triton.next_power_of_2(D)),
    )
    return o, lse
