# label: right
# title: walk along the row in blocks of 64 with a running vector

@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    running = tl.zeros((BLOCK,), dtype=tl.float32)
    start = 0
    while start < columns:
        j = start + lanes
        piece = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=0.0)
        running += piece.to(tl.float32)
        start += BLOCK
    tl.store(s_ptr + i, tl.sum(running, axis=0))

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=64)
    return s
