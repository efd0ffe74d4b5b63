# label: right
# title: a sum per lane

from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    # reads N elements, each once; writes one number
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · x_row may pass 2³¹
    m_i = tl.full((), -float("inf"), tl.float32)  # of the columns seen so far: their maximum,
    l_i = tl.full((), 0.0, tl.float32)  # and the sum of exp(x − m_i)
    lane = tl.arange(0, BLOCK)
    m = tl.full((BLOCK,), float("-inf"), tl.float32)
    l = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, N, BLOCK):
        j = first + lane
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, x)
        unit = tl.where(new == float("-inf"), 0.0, new)
        l = l * tl.exp(m - unit) + tl.exp(x - unit)
        m = new
    m_i = tl.max(m, axis=0)
    base = tl.where(m_i == float("-inf"), 0.0, m_i)
    l_i = tl.sum(l * tl.exp(m - base), axis=0)
    tl.store(lse_ptr + i, base + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
