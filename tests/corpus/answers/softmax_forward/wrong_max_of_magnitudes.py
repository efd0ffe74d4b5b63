# label: wrong
# title: max of magnitudes
# says: line top = tl.max(tl.abs(s)): the largest magnitude is subtracted in place of the maximum, so rows
#   near -200 underflow to 0 / 0
# names: padding enters the maximum

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    live = j < N
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=live, other=-float("inf")).to(tl.float32)
    top = tl.max(tl.where(s > -float("inf"), tl.abs(s), 0.0), axis=0)
    num = tl.exp(s - top)
    den = tl.sum(num, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, num / den, mask=live)


def softmax_forward(s: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=4)
    return p
