# label: wrong
# title: blas in place
# says: as in BLAS, y is overwritten – the launcher passes y (and y.stride(0)) as the output and returns it,
#   instead of allocating a new z
# names: changed input

from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    # y <- a x + y
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    ok = offs < n
    x = tl.load(x_ptr + offs * stride_x, mask=ok).to(tl.float32)
    y = tl.load(y_ptr + offs * stride_y, mask=ok).to(tl.float32)
    tl.store(y_ptr + offs * stride_y, a * x + y, mask=ok)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    """z = a·x + y: two vectors [n] of any strides → [n] contiguous, in the dtype of x."""
    n = x.numel()
    grid = (triton.cdiv(n, 512),)
    scaled_add_kernel[grid](a, x, y, n, x.stride(0), y.stride(0), BLOCK=512)
    return y
