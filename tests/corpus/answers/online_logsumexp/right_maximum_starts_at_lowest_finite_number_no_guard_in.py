# label: right
# title: maximum starts at the lowest finite number, no guard in the loop

@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -3.4028234e38, tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    j = tl.arange(0, BLOCK)
    left = N
    while left > 0:
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_old = m_i
        m_i = tl.maximum(m_old, tl.max(x, axis=0))
        l_i = l_i * tl.exp(m_old - m_i) + tl.sum(tl.exp(x - m_i), axis=0)
        j += BLOCK
        left -= BLOCK
    tl.store(lse_ptr + i, tl.log(l_i) + m_i)

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=128)
    return lse
