# label: wrong
# title: filler minus 100
# says: the load fills padding with other=-100.0 instead of −inf, so with scores around −200 the padding wins
#   the maximum and takes the whole sum
# names: one edit; a finite number for −inf

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK).to(tl.int64)
    valid = col < N
    # exp(-100) is nothing, so the padding adds nothing
    scores = tl.load(s_ptr + row * s_row + col * s_col, mask=valid, other=-100.0).to(tl.float32)
    num = tl.exp(scores - tl.max(scores, axis=0))
    den = tl.sum(num, axis=0)
    tl.store(p_ptr + row * p_row + col * p_col, num / den, mask=valid)


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
