# label: wrong
# title: rows not masked and last columns stored unmasked
# says: Two mistakes: the load's mask knows only the columns, so the last tile reads rows from M on and adds
#   them; and the final store has no mask, so it writes behind db whenever N is no multiple of 64.
# names: rows below the matrix; rows below the matrix + out_of_bounds

@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    col_sum = tl.zeros([BLOCK_N], tl.float32)
    for r0 in range(0, M, BLOCK_M):
        rows = (r0 + tl.arange(0, BLOCK_M)).to(tl.int64)
        block = tl.load(
            dy_ptr + rows[:, None] * dy_row + cols[None, :] * dy_col, mask=cols[None, :] < N, other=0.0
        )
        col_sum += tl.sum(block.to(tl.float32), axis=0)
    tl.store(db_ptr + cols, col_sum)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N),)
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db
