# label: wrong
# title: output by x stride
# says: line s_ptr += i * stride_row: the sums are stored with the row stride of x, although s is a dense
#   vector
# names: out_of_bounds

from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    x_ptr += i * stride_row
    s_ptr += i * stride_row
    cols = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + cols * stride_column, mask=cols < columns, other=0.0).to(tl.float32)
    tl.store(s_ptr, tl.sum(v, 0))


def row_sum(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
