# label: wrong
# title: always 128 programs
# says: The grid is fixed at 128 programs of 256 elements, and the kernel has no loop: from n = 32769 on the
#   rest of z is never written. The grid must be n / BLOCK rounded up.
# names: tail without a program; never written

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    k = program * BLOCK + tl.arange(0, BLOCK)
    alive = k < n
    xs = tl.load(x_ptr + k * stride_x, mask=alive).to(tl.float32)
    ys = tl.load(y_ptr + k * stride_y, mask=alive).to(tl.float32)
    tl.store(z_ptr + k, xs * a + ys, mask=alive)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(128,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
    return z
