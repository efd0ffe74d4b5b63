# label: wrong
# title: y added in torch to a rounded product
# says: The kernel only scales, and stores a·x in the dtype of x; y is added afterwards by torch. For fp16 the
#   product is rounded (or overflows: a·x = 70000, y = -60000) before y comes: compute both in fp32, inside
#   the kernel.
# names: a·x is rounded; not_yours

@triton.jit
def scaled_add_kernel(a, x_ptr, z_ptr, n, stride_x, BLOCK: tl.constexpr):
    o = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + o * stride_x, mask=o < n, other=0.0).to(tl.float32)
    tl.store(z_ptr + o, a * x, mask=o < n)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, 1024),)](a, x, z, n, x.stride(0), BLOCK=1024)
    z += y
    return z
