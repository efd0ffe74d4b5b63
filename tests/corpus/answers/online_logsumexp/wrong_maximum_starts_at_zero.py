# label: wrong
# title: maximum starts at zero
# says: m_i starts at 0 instead of −inf, so the maximum is never below 0: in a row of scores around −200 every
#   exponential underflows, and the result is log 0 = −inf.
# names: maximum starts at 0

@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), 0.0, tl.float32)  # 0 so that -inf - -inf can not happen
    l_i = tl.full((), 0.0, tl.float32)
    start = 0
    while start < N:
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_i - m_new) + tl.sum(tl.exp(x - m_new), axis=0)
        m_i = m_new
        start += BLOCK
    tl.store(lse_ptr + i, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
