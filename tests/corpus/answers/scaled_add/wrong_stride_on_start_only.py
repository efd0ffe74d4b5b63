# label: wrong
# title: stride on start only
# says: two faults: `first = pid * BLOCK * stride` multiplies the stride into the first offset only and the
#   lanes then go up by 1, and `z = torch.empty(n, device=x.device)` is always fp32 instead of the dtype of x
# names: out_of_bounds; shape + strides ignored

from torch import Tensor


@triton.jit
def axpy(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    keep = pid * BLOCK + lanes < n
    x = tl.load(x_ptr + pid * BLOCK * stride_x + lanes, mask=keep).to(tl.float32)
    y = tl.load(y_ptr + pid * BLOCK * stride_y + lanes, mask=keep).to(tl.float32)
    tl.store(z_ptr + pid * BLOCK + lanes, a * x + y, mask=keep)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.shape[0]
    z = torch.empty(n, device=x.device)
    axpy[(triton.cdiv(n, 512),)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=512)
    return z
