# label: wrong
# title: signs after the product
# says: `y = y * sign[None, :]` applies the signs to the columns of x H instead of the columns of x before the
#   product
# names: signs after the product

from torch import Tensor


@triton.jit
def hadamard_rotate_kernel(
    x_ptr, signs_ptr, y_ptr, root, M, x_row, x_col, BLOCK_M: tl.constexpr, D: tl.constexpr
):
    # a program owns BLOCK_M rows; root is 1/√D, y is contiguous
    rows = (tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
    d = tl.arange(0, D)
    in_rows = (rows < M)[:, None]
    x = tl.load(x_ptr + rows[:, None] * x_row + d[None, :] * x_col, mask=in_rows, other=0.0)
    both = d[:, None] & d[None, :]
    odd = both ^ (both >> 1)
    odd = odd ^ (odd >> 2)
    odd = odd ^ (odd >> 4)
    h = tl.where((odd & 1) == 1, -1.0, 1.0).to(x.dtype)
    y = tl.dot(x, h, input_precision="ieee")
    sign = tl.load(signs_ptr + d)
    y = y * sign[None, :]
    y = y * root
    tl.store(y_ptr + rows[:, None] * D + d[None, :], y.to(y_ptr.dtype.element_ty), mask=in_rows)


def hadamard_rotate(x: Tensor, signs: Tensor) -> Tensor:
    """(x ∘ signs) H/√D in x's dtype: x [M, D] with any strides, signs [D] of 1 and −1 in fp32.

    H is Sylvester's Hadamard matrix, H_ij = (−1)^(number of bits that i and j share). Raises ValueError
    where D is no power of two from 16 to 256.
    """
    M, D = x.shape
    if D not in (16, 32, 64, 128, 256):
        raise ValueError(f"x has rows of {D} numbers, expected a power of two from 16 to 256")
    y = torch.empty((M, D), dtype=x.dtype, device=x.device)
    block = 32
    hadamard_rotate_kernel[(triton.cdiv(M, block),)](x, signs, y, D**-0.5, M, *x.stride(), BLOCK_M=block, D=D)
    return y
