# label: right
# title: eight columns at a time, lanes added up at the end

@triton.jit
def add_up_row(x_ptr, out_ptr, n_cols, row_stride, col_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n_cols, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * row_stride + cols * col_stride, mask=cols < n_cols, other=0)
        total += x
    tl.store(out_ptr + row, tl.sum(total))


def row_sum(x):
    out = torch.empty(x.size(0), dtype=x.dtype)
    add_up_row[(x.size(0),)](x, out, x.size(1), x.stride(0), x.stride(1), BLOCK=8)
    return out
