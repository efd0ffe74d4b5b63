# label: wrong
# title: a mask by the number of rows
# says: The mask compares the columns with the number of programs, which is that of the rows.
# names: out_of_bounds

@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    valid = lane < tl.num_programs(0)
    values = tl.load(x_ptr + row * stride_row + lane * stride_column, mask=valid, other=0.0)
    tl.store(s_ptr + row, tl.sum(values.to(tl.float32), axis=0))


def row_sum(x: Tensor) -> Tensor:
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
