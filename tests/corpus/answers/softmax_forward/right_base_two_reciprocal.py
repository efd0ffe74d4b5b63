# label: right
# title: base two reciprocal

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    # reads N, writes N elements; s_row, s_col: strides of s, counted in elements
    i = tl.program_id(0).to(tl.int64)  # the row; 64 bits, since i · s_row may pass 2³¹
    j = tl.arange(0, BLOCK)  # [BLOCK] columns; those from N on are padding
    valid = j < N
    x = tl.load(s_ptr + i * s_row + j * s_col, mask=valid, other=float("-inf")).to(tl.float32)
    x = (x - tl.max(x, axis=0)) * 1.4426950408889634
    w = tl.exp2(x)
    scale = 1.0 / tl.sum(w, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, (w * scale).to(p_ptr.dtype.element_ty), mask=valid)


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
