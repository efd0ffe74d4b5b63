# label: wrong
# title: helper called with x and y exchanged
# says: The helper computes `alpha * u + v` and is called as `axpy(a, yv, xv)`: that is a·y + x. Right only
#   for a = 1 or x = y; the arguments must be xv, yv.
# names: a scales y

@triton.jit
def axpy(alpha, u, v):
    return alpha * u.to(tl.float32) + v.to(tl.float32)

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = idx < n
    yv = tl.load(y_ptr + idx * stride_y, mask=m, other=0.0)
    xv = tl.load(x_ptr + idx * stride_x, mask=m, other=0.0)
    tl.store(z_ptr + idx, axpy(a, yv, xv), mask=m)

def scaled_add(a, x, y):
    n = x.shape[0]
    z = torch.empty(n, device=x.device, dtype=x.dtype)
    BLOCK = 1024
    scaled_add_kernel[((n + BLOCK - 1) // BLOCK,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
