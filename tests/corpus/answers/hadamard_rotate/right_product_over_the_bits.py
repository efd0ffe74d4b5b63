# label: right
# title: product over the bits

from torch import Tensor


@triton.jit
def hadamard_rotate_kernel(
    x_ptr, signs_ptr, y_ptr, root, M, x_row, x_col, BLOCK_M: tl.constexpr, D: tl.constexpr
):
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    d = tl.arange(0, D)
    in_rows = (rows < M)[:, None]
    x = tl.load(x_ptr + rows[:, None] * x_row + d[None, :] * x_col, mask=in_rows, other=0.0)
    x = x * tl.load(signs_ptr + d).to(x.dtype)[None, :]
    matrix = tl.full((D, D), 1, tl.int32)
    for bit in tl.static_range(8):
        shared = (d[:, None] >> bit) & (d[None, :] >> bit) & 1
        matrix = matrix * (1 - 2 * shared)
    y = tl.dot(x, matrix.to(x.dtype), input_precision="ieee") * root
    tl.store(y_ptr + rows[:, None] * D + d[None, :], y.to(y_ptr.dtype.element_ty), mask=in_rows)


def hadamard_rotate(x: Tensor, signs: Tensor) -> Tensor:
    M, D = x.shape
    if D not in (16, 32, 64, 128, 256):
        raise ValueError(f"rows of {D} numbers: D must be a power of two from 16 to 256")
    y = torch.empty((M, D), dtype=x.dtype, device=x.device)
    hadamard_rotate_kernel[(triton.cdiv(M, 32),)](x, signs, y, D**-0.5, M, *x.stride(), BLOCK_M=32, D=D)
    return y
