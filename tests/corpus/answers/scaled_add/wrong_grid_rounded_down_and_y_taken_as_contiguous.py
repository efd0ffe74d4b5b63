# label: wrong
# title: grid rounded down and y taken as contiguous
# says: Two mistakes: the grid `n // BLOCK` leaves the last n % 512 elements of z unwritten (all of them for n
#   < 512), and y is read at `y_ptr + offs` without stride_y, wrong for a strided y.
# names: out_of_bounds; out_of_bounds + tail without a program

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = offs < n
    x = tl.load(x_ptr + offs * stride_x, mask=valid, other=0.0)
    y = tl.load(y_ptr + offs, mask=valid, other=0.0)
    out = a * x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + offs, out, mask=valid)

def scaled_add(a, x, y):
    n = len(x)
    BLOCK = 512
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(n // BLOCK,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
