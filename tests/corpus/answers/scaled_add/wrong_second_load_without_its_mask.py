# label: wrong
# title: second load without its mask
# says: The load of y has no mask: in the last block it reads past the end of y whenever n is no multiple of
#   256. Every load needs the mask, not only the first one and the store.
# names: no mask

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
    y = tl.load(y_ptr + offsets * stride_y)
    z = a * x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + offsets, z, mask=mask)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    BLOCK = 256
    grid = (triton.cdiv(n, BLOCK),)
    scaled_add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
