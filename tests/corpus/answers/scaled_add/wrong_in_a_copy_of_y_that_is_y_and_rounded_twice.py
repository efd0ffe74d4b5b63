# label: wrong
# title: into y.contiguous(), which is y itself, and the product rounded
# says: z is y.contiguous(), which is y itself where y has no gaps: y is overwritten. Besides, a·x is rounded to half
#   precision before y is added.
# names: changed input; a·x is rounded

@triton.jit
def axpy(a, x_ptr, y_ptr, n, step, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = i < n
    ax = a * tl.load(x_ptr + i * step, mask=there, other=0.0)
    ax = ax.to(x_ptr.dtype.element_ty)
    tl.store(y_ptr + i, ax + tl.load(y_ptr + i, mask=there, other=0.0), mask=there)


def scaled_add(a, x, y):
    z = y.contiguous()
    axpy[(triton.cdiv(x.numel(), 128),)](a, x, z, x.numel(), x.stride(0), BLOCK=128)
    return z
