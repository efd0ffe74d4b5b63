# label: right
# title: onto a clone of y, by two programs in turn

@triton.jit
def _in_place(z_ptr, x_ptr, a, n, dx, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        z = tl.load(z_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        z += a * tl.load(x_ptr + i * dx, mask=i < n, other=0.0).to(tl.float32)
        tl.store(z_ptr + i, z, mask=i < n)


def onto_a_clone_of_y(a, x, y):
    z = y.clone(memory_format=torch.contiguous_format)
    _in_place[(2,)](z, x, a, z.numel(), x.stride(0), BLOCK=64)
    return z
