# label: right
# title: share through logarithm

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK)
    inside = col < N
    s = tl.load(s_ptr + row * s_row + col * s_col, mask=inside, other=0.0).to(tl.float32)
    s = tl.where(inside, s, -float("inf"))
    s -= tl.max(s, axis=0)
    s -= tl.log(tl.sum(tl.exp(s), axis=0))
    tl.store(p_ptr + row * p_row + col * p_col, tl.exp(s), mask=inside)


def softmax_forward(s: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=triton.next_power_of_2(N))
    return p
