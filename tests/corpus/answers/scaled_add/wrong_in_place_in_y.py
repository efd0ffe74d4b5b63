# label: wrong
# title: in place in y
# says: line `z = y`: the result is written over the input y instead of into new memory (and is not contiguous
#   where y is not)
# names: changed input; returned input

from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    # x[i] lies at x_ptr + i * stride_x, y[i] at y_ptr + i * stride_y, z is contiguous
    pid = tl.program_id(0).to(tl.int64)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)  # [BLOCK]
    in_vector = offsets < n
    # no other=: what padded lanes hold is computed with, but never stored
    x = tl.load(x_ptr + offsets * stride_x, mask=in_vector).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=in_vector).to(tl.float32)
    tl.store(z_ptr + offsets, a * x + y, mask=in_vector)  # reads 2n, writes n elements in all


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    """z = a·x + y: two vectors [n] of any strides → [n] contiguous, in the dtype of x."""
    n = x.numel()
    z = y
    BLOCK = 1024
    grid = (triton.cdiv(n, BLOCK),)
    scaled_add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
