# label: right
# title: column sums as a product with ones, sixteen equal rows of which one is kept

@triton.jit
def ones_times(dy, db, M, N, row_stride, col_stride, BLOCK: tl.constexpr):
    cols = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK).to(tl.int64)
    ones = tl.full((16, BLOCK), 1.0, tl.float32)
    acc = tl.zeros((16, BLOCK), tl.float32)
    for top in range(0, M, BLOCK):
        rows = top + tl.arange(0, BLOCK).to(tl.int64)
        at = dy + rows[:, None] * row_stride + cols[None, :] * col_stride
        tile = tl.load(at, mask=(rows[:, None] < M) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(ones, tile.to(tl.float32), acc, input_precision="ieee")
    which = tl.arange(0, 16).to(tl.int64)[:, None]
    tl.store(db + cols[None, :] + which, acc, mask=(which == 0) & (cols[None, :] < N))


def launcher(dy):
    db = dy.new_empty(dy.shape[1])
    ones_times[(triton.cdiv(dy.shape[1], 32),)](dy, db, *dy.shape, *dy.stride(), BLOCK=32)
    return db
