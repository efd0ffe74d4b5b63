# label: wrong
# title: carries the guard
# says: `m_i = m_new` stores the guarded maximum: after a first block of -inf m_i is 0, no maximum of negative
#   scores ever replaces it, and low scores underflow to -inf
# names: log of zero

from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    # reads N elements, each once; writes one number
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · x_row may pass 2³¹
    m_i = tl.full((), -float("inf"), tl.float32)  # of the columns seen so far: their maximum,
    l_i = tl.full((), 0.0, tl.float32)  # and the sum of exp(x − m_i)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m_i, tl.max(x, axis=0))
        m_new = tl.where(m_new == -float("inf"), 0.0, m_new)
        scale = tl.exp(m_i - m_new)
        l_i = scale * l_i + tl.sum(tl.exp(x - m_new), axis=0)
        m_i = m_new
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
