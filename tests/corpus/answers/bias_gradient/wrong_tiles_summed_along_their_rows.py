# label: wrong
# title: tiles summed along their rows
# says: `tl.sum(tile, axis=1)` sums each row of the tile; with square tiles the shapes fit, and row sums land
#   in the columns' slots. The rows must disappear: axis=0.
# names: summed along the wrong axis

@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK: tl.constexpr):
    j = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    db = tl.zeros([BLOCK], tl.float32)
    for top in range(0, M, BLOCK):
        i = (top + tl.arange(0, BLOCK)).to(tl.int64)
        inside = (i[:, None] < M) & (j[None, :] < N)
        tile = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=inside, other=0.0)
        db += tl.sum(tile.to(tl.float32), axis=1)
    tl.store(db_ptr + j, db, mask=j < N)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    bias_gradient_kernel[(triton.cdiv(N, 32),)](dy, db, M, N, *dy.stride(), BLOCK=32)
    return db
