# part: a text that answers change

@triton.jit
def sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=0.0).to(tl.float32)
    tl.store(s_ptr + i, tl.sum(x, axis=0))


def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype)
    sum_kernel[(rows,)](x, s, columns, *x.stride(), BLOCK=triton.next_power_of_2(columns))
    return s
