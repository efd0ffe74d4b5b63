# label: wrong
# title: column stride left out of the address
# says: The address is `row * stride_row + cols`; the columns need `* stride_column`. It is right only where
#   neighbouring columns lie side by side: for x.T or x[:, ::2] other elements are summed.
# names: out_of_bounds

@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    row_ptr = x_ptr + row * stride_row
    vals = tl.load(row_ptr + cols, mask=cols < columns, other=0.0)
    vals = vals.to(tl.float32)
    tl.store(s_ptr + row, tl.sum(vals, axis=0))

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
