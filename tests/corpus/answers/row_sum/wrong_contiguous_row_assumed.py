# label: wrong
# title: contiguous row assumed
# says: line `v = tl.load`: uses `row * columns + lane`, a C array index, so strides of x are ignored
# names: rows taken as packed

from torch import Tensor


@triton.jit
def my_row_sum(src, dst, W, BLOCK: tl.constexpr):
    blockIdx = tl.program_id(0).to(tl.int64)
    threadIdx = tl.arange(0, BLOCK)
    v = tl.load(src + blockIdx * W + threadIdx, mask=threadIdx < W, other=0.0)
    tl.store(dst + blockIdx, tl.sum(v.to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    H, W = x.shape
    out = torch.empty(H, dtype=x.dtype, device=x.device)
    my_row_sum[(H,)](x, out, W, BLOCK=triton.next_power_of_2(W))
    return out
