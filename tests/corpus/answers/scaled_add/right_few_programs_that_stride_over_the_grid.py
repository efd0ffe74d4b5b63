# label: right
# title: few programs that stride over the grid

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        e = first + lanes
        real = e < n
        ax = a * tl.load(x_ptr + e * stride_x, mask=real, other=0.0).to(tl.float32)
        tl.store(
            z_ptr + e, ax + tl.load(y_ptr + e * stride_y, mask=real, other=0.0).to(tl.float32), mask=real
        )

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty_like(x, memory_format=torch.contiguous_format)
    programs = min(n // 256 + 1, 64)
    scaled_add_kernel[(programs,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
    return z
