# label: wrong
# title: y not made contiguous
# says: line scaled_add_kernel[...](a, x.contiguous(), y, ...): only x is copied into a dense vector, y is
#   still read with stride 1 when it has gaps
# names: out_of_bounds

from torch import Tensor


@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    keep = idx < n
    x = tl.load(x_ptr + idx, mask=keep, other=0.0)
    y = tl.load(y_ptr + idx, mask=keep, other=0.0)
    z = a * x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + idx, z, mask=keep)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.shape[0]
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, 512),)](a, x.contiguous(), y, z, n, BLOCK=512)
    return z
