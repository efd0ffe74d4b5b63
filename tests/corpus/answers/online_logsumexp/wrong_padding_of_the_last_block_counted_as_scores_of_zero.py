# label: wrong
# title: padding of the last block counted as scores of zero
# says: `other=0.0`: each idle lane of the last block is a score of 0 that enters maximum and sum. Wrong for
#   every N that is no multiple of BLOCK; the filler must be −inf.
# names: padding enters the sum

@triton.jit
def merge_in(m, l, x):
    m_new = tl.maximum(m, tl.max(x, axis=0))
    shift = tl.where(m_new == -float("inf"), 0.0, m_new)
    return m_new, l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)

@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=0.0).to(tl.float32)
        m_i, l_i = merge_in(m_i, l_i, x)
    tl.store(lse_ptr + i, m_i + tl.log(l_i))

def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=64)
    return lse
