# label: right
# title: two-dimensional tiles, a fused multiply-add

@triton.jit
def axpy(x_ptr, y_ptr, out_ptr, alpha, length, dx, dy, ROWS: tl.constexpr, COLS: tl.constexpr):
    first = tl.program_id(axis=0) * (ROWS * COLS)
    where = first + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :]
    valid = where < length
    xs = tl.load(x_ptr + where * dx, mask=valid, other=0.0).to(tl.float32)
    ys = tl.load(y_ptr + where * dy, mask=valid, other=0.0).to(tl.float32)
    tl.store(out_ptr + where, tl.fma(xs, alpha, ys), mask=valid)


def scaled_add(a, x, y):
    out = torch.empty(x.shape, dtype=x.dtype)
    length = out.numel()
    axpy[(triton.cdiv(length, 256),)](x, y, out, a, length, x.stride(0), y.stride(0), ROWS=8, COLS=32)
    return out
