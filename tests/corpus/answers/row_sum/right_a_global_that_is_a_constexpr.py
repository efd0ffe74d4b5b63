# label: right
# title: a global that is a constexpr

FACTOR = 1.0
START = tl.constexpr(0.0)


def added(total, part):
    return total + part


@triton.jit
def sum_rows(x_ptr, out_ptr, width, row_stride, column_stride, BLOCK: tl.constexpr):
    row = x_ptr + tl.program_id(0) * row_stride
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        part = tl.load(row + columns * column_stride, mask=columns < width, other=0.0)
        total += part.to(tl.float32)
    tl.store(out_ptr + tl.program_id(0), tl.sum(total, axis=0) + START)


def row_sum(x):
    out = torch.empty(x.shape[0], dtype=x.dtype)
    sum_rows[(x.shape[0],)](x, out, x.shape[1], x.stride(0), x.stride(1), BLOCK=64)
    return out
