# label: wrong
# title: zero filler and input strides
# says: two faults: `other=0.0` makes 0 the maximum of rows around -200 (0/0), and the last line stores p by
#   the strides of s
# names: out_of_bounds; strides of s used for p

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    inside = j < N
    at = i * s_row + j * s_col
    s = tl.load(s_ptr + at, mask=inside, other=0.0).to(tl.float32)
    e = tl.where(inside, tl.exp(s - tl.max(s, axis=0)), 0.0)
    tl.store(p_ptr + at, e / tl.sum(e, axis=0), mask=inside)


def softmax_forward(s: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
