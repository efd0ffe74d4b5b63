# label: wrong
# title: max of absolute
# says: line `m_i`: the shift is the largest absolute value, so rows of large negative scores underflow to 0/0
# names: zero over zero

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
  
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    in_row = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=in_row, other=-float("inf")).to(tl.float32)
    m_i = tl.max(tl.abs(s), axis=0)
    e = tl.exp(s - m_i)
    l_i = tl.sum(e, axis=0)
    p = e / l_i
    tl.store(p_ptr + i * p_row + j * p_col, p, mask=in_row)


def softmax_forward(s: Tensor) -> Tensor:
    """p = softmax(s) row by row: [M, N] of any strides → [M, N] contiguous, in the dtype of s."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
  
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
