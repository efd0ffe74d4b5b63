# label: wrong
# title: half guarded
# says: the line `l_i *= tl.exp(m_i - m_new)` takes the unguarded maximum: while everything so far is -inf it
#   is exp(-inf + inf) = NaN, only the other exponential has the guard
# names: −inf minus −inf

from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    ptrs = x_ptr + i * x_row + tl.arange(0, BLOCK).to(tl.int64) * x_col
    for left in range(N, 0, -BLOCK):
        x = tl.load(ptrs, mask=tl.arange(0, BLOCK) < left, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l_i *= tl.exp(m_i - m_new)
        l_i += tl.sum(tl.exp(x - shift), axis=0)
        m_i = m_new
        ptrs += BLOCK * x_col
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
