# label: right
# title: two dimensional tile

from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    # x[i, j] lies at x_ptr + i * stride_row + j * stride_column, counted in elements
    # BLOCK is a power of two and at least `columns`
    r = tl.program_id(0).to(tl.int64) + tl.zeros((1,), tl.int64)
    c = tl.arange(0, BLOCK)
    at = r[:, None] * stride_row + c[None, :] * stride_column
    x = tl.load(x_ptr + at, mask=(c < columns)[None, :], other=0.0)
    tl.store(s_ptr + r, tl.sum(x.to(tl.float32), axis=1).to(s_ptr.dtype.element_ty))


def row_sum(x: Tensor) -> Tensor:
    """s_i = Σ_j x_ij: [rows, columns] of any strides → [rows], in the dtype of x, summed in fp32."""
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
