# label: right
# title: clamped index

from torch import Tensor


@triton.jit
def clamp_and_add(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    inside = tl.minimum(lane, columns - 1).to(tl.int64)
    x = tl.load(x_ptr + (row * stride_row + inside * stride_column)).to(tl.float32)
    tl.store(s_ptr + row, tl.sum(x * (lane < columns).to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = x.new_empty(rows)
    clamp_and_add[(rows,)](
        x, s, columns, *x.stride(), BLOCK=triton.next_power_of_2(columns)
    )
    return s
