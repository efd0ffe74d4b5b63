# label: wrong
# title: idle lanes left without a filler
# says: The load has a mask but no `other=`, and then everything is summed: the idle lanes hold nothing in
#   particular. If columns is no power of two (37, say) the sum is undefined; add other=0.0.
# names: masked load without other

@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    addresses = x_ptr + (pid * stride_row + lanes * stride_column)
    x = tl.load(addresses, mask=(lanes < columns)).to(tl.float32)
    tl.store(s_ptr + pid, tl.sum(x, 0))

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
