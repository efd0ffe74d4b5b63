# label: wrong
# title: x is scaled by torch
# says: torch scales x in the launcher; the kernel only adds.
# names: not_yours

@triton.jit
def _plus(z_ptr, x_ptr, y_ptr, n, dx, dy, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    x = tl.load(x_ptr + i * dx, mask=keep)
    tl.store(z_ptr + i, x + tl.load(y_ptr + i * dy, mask=keep), mask=keep)


def x_is_scaled_by_torch(a, x, y):
    z = torch.empty(len(x), dtype=x.dtype)
    scaled = a * x.float()
    _plus[(triton.cdiv(len(x), 128),)](z, scaled, y, len(x), scaled.stride(0), y.stride(0), BLOCK=128)
    return z
