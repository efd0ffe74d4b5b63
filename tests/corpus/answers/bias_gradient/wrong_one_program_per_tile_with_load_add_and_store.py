# label: wrong
# title: one program per tile with load, add and store
# says: Programs of the same columns load the sum so far, add their part and store it: a race. One after the
#   other it comes out right; side by side on a GPU contributions get lost for every M > BLOCK_M = 32. It
#   takes tl.atomic_add, or a loop in one program.
# names: load, add, store

@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_i, in_j = i < M, j < N
    dy = tl.load(
        dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=in_i[:, None] & in_j[None, :], other=0.0
    )
    so_far = tl.load(db_ptr + j, mask=in_j, other=0.0)
    tl.store(db_ptr + j, so_far + tl.sum(dy.to(tl.float32), axis=0), mask=in_j)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.zeros(N, dtype=torch.float32, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N), triton.cdiv(M, BLOCK_M))
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db.to(dy.dtype)
