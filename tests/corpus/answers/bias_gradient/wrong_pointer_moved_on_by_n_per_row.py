# label: wrong
# title: pointer moved on by N per row
# says: `ptrs += BLOCK_M * N` takes a row to be N elements long. The next tile begins BLOCK_M * dy_row further
#   on; for a window into a wider matrix or a transposed dy the second tile comes from the wrong place (M >
#   16).
# names: out_of_bounds

@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    i = tl.arange(0, BLOCK_M).to(tl.int64)
    ptrs = dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col
    running = tl.zeros([BLOCK_N], tl.float32)
    left = M
    while left > 0:
        tile = tl.load(ptrs, mask=(i[:, None] < left) & (j[None, :] < N), other=0.0)
        running += tl.sum(tile.to(tl.float32), axis=0)
        ptrs += BLOCK_M * N
        left -= BLOCK_M
    tl.store(db_ptr + j, running, mask=j < N)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    bias_gradient_kernel[(triton.cdiv(N, 16),)](dy, db, M, N, *dy.stride(), BLOCK_M=16, BLOCK_N=16)
    return db
