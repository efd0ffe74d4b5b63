# label: right
# title: three passes over memory in blocks of 16

@triton.jit
def softmax_3pass(inp, out, n_cols, in_row, in_col, out_row, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    biggest = -float("inf")
    for c in range(0, n_cols, BLOCK):
        cols = c + tl.arange(0, BLOCK)
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=-float("inf"))
        biggest = tl.maximum(biggest, tl.max(x, axis=0).to(tl.float32))
    denom = 0.0
    for c in range(0, n_cols, BLOCK):
        cols = c + tl.arange(0, BLOCK)
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=-float("inf"))
        denom += tl.sum(tl.exp(x.to(tl.float32) - biggest), axis=0)
    for last in range(0, n_cols, BLOCK):
        cols = last + tl.arange(0, BLOCK)
        x = tl.load(inp + row * in_row + cols * in_col, mask=cols < n_cols, other=0.0)
        y = tl.exp(x.to(tl.float32) - biggest) / denom
        tl.store(out + row * out_row + cols, y, mask=cols < n_cols)


def softmax_forward(s):
    out = torch.empty(s.shape, dtype=s.dtype)
    softmax_3pass[(s.shape[0],)](s, out, s.shape[1], s.stride(0), s.stride(1), out.stride(0), BLOCK=16)
    return out
