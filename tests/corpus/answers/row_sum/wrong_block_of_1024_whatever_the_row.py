# label: wrong
# title: block of 1024 whatever the row
# says: The launcher fixes BLOCK = 1024 and the kernel has no loop: of a row with more than 1024 columns only
#   the first 1024 are summed. BLOCK has to be at least `columns`, or the kernel must walk.
# names: only the first tile

@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * stride_row + c * stride_column, mask=c < columns, other=0.0)
    s = tl.sum(x.to(tl.float32), axis=0)
    tl.store(s_ptr + r, s)

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty((rows,), dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, *x.stride(), BLOCK=1024)
    return s
