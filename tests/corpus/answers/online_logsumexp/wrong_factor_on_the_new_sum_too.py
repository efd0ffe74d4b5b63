# label: wrong
# title: factor on the new sum too
# says: the brackets in the l_i line: the factor exp(m_i - ref) multiplies the new block's sum as well as the
#   old one, so the first block vanishes
# names: one edit

from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    # reads N elements, each once; writes one number
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · x_row may pass 2³¹
    m_i = tl.full((), -float("inf"), tl.float32)  # of the columns seen so far: their maximum,
    l_i = tl.full((), 0.0, tl.float32)  # and the sum of exp(x − m_i)
    for first in range(0, N, BLOCK):
        cols = first + tl.arange(0, BLOCK)
        vals = tl.load(x_ptr + i * x_row + cols * x_col, mask=cols < N, other=-float("inf")).to(tl.float32)
        top = tl.maximum(tl.max(vals, axis=0), m_i)
        ref = tl.where(top == -float("inf"), 0.0, top)
        block_sum = tl.sum(tl.exp(vals - ref), axis=0)
        l_i = (l_i + block_sum) * tl.exp(m_i - ref)
        m_i = top
    tl.store(lse_ptr + i, tl.log(l_i) + m_i)


def online_logsumexp(x: Tensor) -> Tensor:
    """lse_i = log Σ_j exp(x_ij): [M, N] of any strides → [M] in fp32."""
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024  # shorter than a long row, however long it is
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
