# label: wrong
# title: padding zero
# says: line `s = tl.load`: padding is 0, so it takes part in maximum and sum
# names: padding enters the sum

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    # reads N, writes N elements; s_row, s_col: strides of s, counted in elements
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · s_row may pass 2³¹
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from N on are padding
    in_row = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=in_row, other=0.0).to(tl.float32)
    m_i = tl.max(s, axis=0)
    e = tl.exp(s - m_i)  # at most 1; padding holds exp(-inf) = 0 and adds nothing
    l_i = tl.sum(e, axis=0)  # at least 1: the largest score contributes exp(0)
    p = e / l_i
    tl.store(p_ptr + i * p_row + j * p_col, p, mask=in_row)


def softmax_forward(s: Tensor) -> Tensor:
    """p = softmax(s) row by row: [M, N] of any strides → [M, N] contiguous, in the dtype of s."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    # num_warps: how many groups of 32 threads share a program's block; the result does not depend on it
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
