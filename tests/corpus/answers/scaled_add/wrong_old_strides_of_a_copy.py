# label: wrong
# title: old strides of a copy
# says: the launcher copies x and y with .contiguous() but passes the strides it took from the originals
#   before (lines `sx, sy = ...`), so the kernel leaps over the copies
# names: out_of_bounds

from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = idx < n
    x = tl.load(x_ptr + idx * stride_x, mask=ok, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + idx * stride_y, mask=ok, other=0.0).to(tl.float32)
    tl.store(z_ptr + idx, a * x + y, mask=ok)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.shape[0]
    sx, sy = x.stride(0), y.stride(0)
    x, y = x.contiguous(), y.contiguous()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, 512),)](a, x, y, z, n, sx, sy, BLOCK=512)
    return z
