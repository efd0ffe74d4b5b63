# label: wrong
# title: y read with the stride of x
# says: The second load uses `step`, which is x's stride, for y as well; stride_y is never used. Wrong as soon
#   as only one of the two is strided, e.g. x = v[::2] with a contiguous y (reads past its end).
# names: out_of_bounds

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    step = i * stride_x
    xi = tl.load(x_ptr + step, mask=keep, other=0.0).to(tl.float32)
    yi = tl.load(y_ptr + step, mask=keep, other=0.0).to(tl.float32)
    tl.store(z_ptr + i, a * xi + yi, mask=keep)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, 512),)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=512)
    return z
