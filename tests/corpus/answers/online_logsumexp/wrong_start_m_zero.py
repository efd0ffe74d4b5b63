# label: wrong
# title: start m zero
# says: line `m_i = tl.full`: the running maximum starts at 0, so rows of very negative numbers underflow
# names: maximum starts at 0

from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
  
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), 0.0, tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        shift = tl.where(m_new == -float("inf"), 0.0, m_new)
        l_i = l_i * tl.exp(m_i - shift) + tl.sum(tl.exp(x - shift), axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
