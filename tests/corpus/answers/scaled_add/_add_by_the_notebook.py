# part: a text that answers change

@triton.jit
def add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask)
    z = a * x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + offsets, z, mask=mask)


def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype)
    add_kernel[(triton.cdiv(n, 256),)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
    return z
