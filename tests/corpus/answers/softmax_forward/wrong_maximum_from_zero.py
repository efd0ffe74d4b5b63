# label: wrong
# title: maximum from zero
# says: `biggest` starts at 0, so a row whose scores are all far below 0 is shifted by 0 and not by its
#   maximum: exp underflows and 0 / 0 is NaN
# names: one edit

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    # reads N, writes N elements; s_row, s_col: strides of s, counted in elements
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · s_row may pass 2³¹
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from N on are padding
    keep = j < N
    row = tl.load(s_ptr + i * s_row + j * s_col, mask=keep, other=-float("inf")).to(tl.float32)
    biggest = 0.0
    biggest = tl.maximum(biggest, tl.max(row, axis=0))
    num = tl.exp(row - biggest)
    den = tl.sum(num, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, num / den, mask=keep)


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
