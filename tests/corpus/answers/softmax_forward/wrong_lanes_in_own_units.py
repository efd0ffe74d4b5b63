# label: wrong
# title: lanes in own units
# says: every lane keeps its own maximum and sum, and `z = tl.sum(l, axis=0)` adds the sums without the factor
#   exp(m - top) that brings them to one unit
# names: first divergence; one edit

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    m = tl.full((BLOCK,), -float("inf"), tl.float32)  # a maximum for each lane
    l = tl.zeros((BLOCK,), tl.float32)  # and a sum for each lane
    for start in range(0, N, BLOCK):
        j = start + lane
        s = tl.load(s_ptr + i * s_row + j * s_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m_new = tl.maximum(m, s)
        safe = tl.where(m_new == -float("inf"), 0.0, m_new)
        l = l * tl.exp(m - safe) + tl.exp(s - safe)
        m = m_new
    top = tl.max(m, axis=0)
    z = tl.sum(l, axis=0)
    for start in range(0, N, BLOCK):
        j = start + lane
        s = tl.load(s_ptr + i * s_row + j * s_col, mask=j < N, other=-float("inf")).to(tl.float32)
        tl.store(p_ptr + i * p_row + j * p_col, tl.exp(s - top) / z, mask=j < N)


def softmax_forward(s: Tensor) -> Tensor:
    """p = softmax(s) row by row, in blocks of 128."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=128)
    return p
