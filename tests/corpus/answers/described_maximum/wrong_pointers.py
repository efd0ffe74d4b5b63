# label: wrong
# title: pointers instead of a descriptor
# says: the numbers are right, but no descriptor is made and no copy engine used
# names: review

from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.kernels.described import block_d, complying


@triton.jit
def maximum_kernel(x_ptr, y_ptr, S, D, x_b, x_h, x_s, x_d, BLOCK: tl.constexpr, BLOCK_D: tl.constexpr):
    h, b = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    x_ptr += b * x_b + h * x_h
    best = tl.full((BLOCK_D,), -float("inf"), tl.float32)
    for start in range(0, S, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        inside = (rows < S)[:, None] & (d < D)[None, :]
        x = tl.load(x_ptr + rows[:, None] * x_s + d[None, :] * x_d, mask=inside, other=-float("inf"))
        best = tl.maximum(best, tl.max(x.to(tl.float32), axis=0))
    at = (b * tl.num_programs(0) + h) * D + d
    tl.store(y_ptr + at, best.to(y_ptr.dtype.element_ty), mask=d < D)


def described_maximum(x):
    B, H, S, D = x.shape
    y = torch.empty((B, H, D), dtype=x.dtype, device=x.device)
    maximum_kernel[(H, B)](x, y, S, D, *x.stride(), BLOCK=32, BLOCK_D=block_d(D))
    return y
