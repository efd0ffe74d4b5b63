# label: wrong
# title: stride off by name
# says: the strides are swapped in the address: `row * stride_column + cols * stride_row` reads the transposed
#   matrix.
# names: strides swapped

from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    # x[i, j] lies at x_ptr + i * stride_row + j * stride_column, counted in elements
    # BLOCK is a power of two and at least `columns`
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride_column + cols * stride_row, mask=cols < columns, other=0.0)
    tl.store(s_ptr + row, tl.sum(x.to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
