# label: wrong
# title: old sum not converted to the new unit
# says: `l_i += …` adds the new block to a sum that is still in units of the old maximum: the factor exp(m_i −
#   m_new) is missing. Wrong whenever a later block has a larger maximum.
# names: l not rescaled

@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    cols = tl.arange(0, BLOCK)
    for k in range(0, tl.cdiv(N, BLOCK)):
        c = k * BLOCK + cols
        x = tl.load(x_ptr + row * x_row + c * x_col, mask=c < N, other=float("-inf")).to(tl.float32)
        m_i = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_i == float("-inf"), 0.0, m_i)
        l_i += tl.sum(tl.exp(x - shift), axis=0)
    tl.store(lse_ptr + row, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
