# label: wrong
# title: block maximum
# says: the line `top = …` takes the maximum of this block alone instead of the running maximum of m_i and the
#   block, so along a falling row exp(m_i − top) overflows
# names: not finite

from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    # reads N elements, each once; writes one number
    i = tl.program_id(0).to(tl.int64)
    m_i = tl.full((), -float("inf"), tl.float32)
    l_i = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + i * x_row + j.to(tl.int64) * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        top = tl.max(x, axis=0)
        unit = tl.where(top == -float("inf"), 0.0, top)  # -inf - (-inf) would be nan
        l_i = l_i * tl.exp(m_i - unit) + tl.sum(tl.exp(x - unit), axis=0)
        m_i = unit
    tl.store(lse_ptr + i, m_i + tl.log(l_i))


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
