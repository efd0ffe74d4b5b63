# label: wrong
# title: floor grid and bracket
# says: two: grid = (max(1, n // BLOCK),) rounds the programs down, so the tail is never written; and a * (x +
#   y) scales y too
# names: never written + a scales the sum

from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(axis=0)
    start = pid.to(tl.int64) * BLOCK
    k = start + tl.arange(0, BLOCK)
    inside = k < n
    x = tl.load(x_ptr + k * stride_x, mask=inside).to(tl.float32)
    y = tl.load(y_ptr + k * stride_y, mask=inside).to(tl.float32)
    tl.store(z_ptr + k, a * (x + y), mask=inside)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    BLOCK = 256
    grid = (max(1, n // BLOCK),)
    scaled_add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
