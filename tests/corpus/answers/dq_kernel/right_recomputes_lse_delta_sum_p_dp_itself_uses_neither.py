# label: right
# title: recomputes LSE and delta = Σ P dP itself, uses neither lse nor o; alpha in dS

@triton.jit
def recompute_lse_kernel(q, k, v, g, dq, a, Sq, Sk, B: tl.constexpr, D: tl.constexpr, W: tl.constexpr):
    # trusts neither lse nor o: a first scan finds LSE and delta, a second one dQ
    bh, i, d = tl.program_id(0), tl.program_id(1) * B + tl.arange(0, B), tl.arange(0, W)
    ok = (i < Sq)[:, None] & (d < D)[None, :]
    qi = tl.load(q + (bh * Sq + i)[:, None] * D + d[None, :], mask=ok, other=0.0)
    gi = tl.load(g + (bh * Sq + i)[:, None] * D + d[None, :], mask=ok, other=0.0)
    m = tl.full((B,), -float("inf"), tl.float32)
    l = tl.zeros((B,), tl.float32)
    pd = tl.zeros((B,), tl.float32)
    for j0 in range(0, Sk, B):
        j = j0 + tl.arange(0, B)
        kv = (bh * Sk + j)[:, None] * D + d[None, :]
        there = (j < Sk)[:, None] & (d < D)[None, :]
        s = a * tl.dot(qi, tl.trans(tl.load(k + kv, mask=there, other=0.0)), input_precision="ieee")
        s = tl.where((j < Sk)[None, :], s, -float("inf"))
        dp = tl.dot(gi, tl.trans(tl.load(v + kv, mask=there, other=0.0)), input_precision="ieee")
        m_new = tl.maximum(m, tl.max(s, 1))
        e = tl.exp(s - m_new[:, None])
        f = tl.exp(m - m_new)
        l = l * f + tl.sum(e, 1)
        pd = pd * f + tl.sum(e * dp, 1)
        m = m_new
    out = tl.zeros((B, W), tl.float32)
    for j0 in range(0, Sk, B):
        j = j0 + tl.arange(0, B)
        kv = (bh * Sk + j)[:, None] * D + d[None, :]
        there = (j < Sk)[:, None] & (d < D)[None, :]
        kj = tl.load(k + kv, mask=there, other=0.0)
        s = a * tl.dot(qi, tl.trans(kj), input_precision="ieee")
        s = tl.where((j < Sk)[None, :], s, -float("inf"))
        p = tl.exp(s - m[:, None]) / l[:, None]
        dp = tl.dot(gi, tl.trans(tl.load(v + kv, mask=there, other=0.0)), input_precision="ieee")
        ds = a * p * (dp - (pd / l)[:, None])
        out += tl.dot(ds, kj.to(tl.float32), input_precision="ieee")
    tl.store(dq + (bh * Sq + i)[:, None] * D + d[None, :], out, mask=ok)


def dq_from_scratch(q, k, v, o, do, lse, alpha):
    q, k, v, do = (t.contiguous() for t in (q, k, v, do))
    B, H, Sq, D = q.shape
    dq = torch.empty_like(q)
    W = max(16, triton.next_power_of_2(D))
    recompute_lse_kernel[(B * H, triton.cdiv(Sq, 32))](q, k, v, do, dq, alpha, Sq, k.shape[2], B=32, D=D, W=W)
    return dq
