# label: wrong
# title: mask on address
# says: line ok = where < columns: the mask compares the address offset j * stride_column with columns, so
#   strided columns and transposed matrices lose most of the row
# names: last tile missing

from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    where = tl.arange(0, BLOCK) * stride_column
    ok = where < columns
    values = tl.load(x_ptr + row * stride_row + where, mask=ok, other=0.0)
    tl.store(s_ptr + row, tl.sum(values.to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=triton.next_power_of_2(columns))
    return s
