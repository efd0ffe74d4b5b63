# label: wrong
# title: computed by torch first
# says: torch computes all of z; the kernel adds nothing to it.
# names: not_yours

@triton.jit
def _in_place(z_ptr, x_ptr, a, n, dx, BLOCK: tl.constexpr):
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        i = start + tl.arange(0, BLOCK)
        z = tl.load(z_ptr + i, mask=i < n, other=0.0).to(tl.float32)
        z += a * tl.load(x_ptr + i * dx, mask=i < n, other=0.0).to(tl.float32)
        tl.store(z_ptr + i, z, mask=i < n)


def computed_by_torch_first(a, x, y):
    z = torch.empty(len(x), dtype=x.dtype)
    _in_place[(4,)](z.copy_(a * x.float() + y.float()), torch.zeros(len(x)), 0.0, len(x), 1, BLOCK=256)
    return z
