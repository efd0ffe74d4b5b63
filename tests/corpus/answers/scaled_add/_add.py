# part: a text that answers change

@triton.jit
def add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask).to(tl.float32)
    tl.store(z_ptr + offsets, a * x + y, mask=mask)


def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype)
    grid = (triton.cdiv(n, 128),)
    add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=128)
    return z
