# label: wrong
# title: filler minus hundred
# says: other=-100.0: the filler is a finite score that becomes the maximum, and takes a share, in rows of
#   scores near -200
# names: one edit; a finite number for −inf

from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    ok = c < N
    z = tl.load(s_ptr + r * s_row + c * s_col, mask=ok, other=-100.0).to(tl.float32)
    z = tl.exp(z - tl.max(z, 0))
    tl.store(p_ptr + r * p_row + c * p_col, z / tl.sum(z, 0), mask=ok)


def softmax_forward(s: Tensor) -> Tensor:
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(M,)](s, p, N, *s.stride(), *p.stride(), BLOCK=triton.next_power_of_2(N))
    return p
