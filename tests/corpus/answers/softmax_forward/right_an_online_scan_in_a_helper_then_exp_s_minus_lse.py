# label: right
# title: an online scan in a helper, then exp(s − lse)

@triton.jit
def online_stats(ptr, n, step, BLOCK: tl.constexpr):
    m = tl.full([], float("-inf"), tl.float32)
    d = tl.full([], 0.0, tl.float32)
    for k in range(0, n, BLOCK):
        idx = k + tl.arange(0, BLOCK)
        v = tl.load(ptr + idx * step, mask=idx < n, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(v, 0))
        safe = tl.where(new == float("-inf"), 0.0, new)
        d = d * tl.exp(m - safe) + tl.sum(tl.exp(v - safe), 0)
        m = new
    return m + tl.log(d)


@triton.jit
def online_softmax(s_ptr, p_ptr, n, sm, sn, pm, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lse = online_stats(s_ptr + i * sm, n, sn, BLOCK)
    for k in range(0, n, BLOCK):
        idx = k + tl.arange(0, BLOCK)
        v = tl.load(s_ptr + i * sm + idx * sn, mask=idx < n).to(tl.float32)
        tl.store(p_ptr + i * pm + idx, tl.exp(v - lse), mask=idx < n)


def softmax_forward(s):
    p = torch.zeros(s.shape, dtype=s.dtype)
    online_softmax[(len(s),)](s, p, s.shape[1], *s.stride(), p.stride(0), BLOCK=8)
    return p
