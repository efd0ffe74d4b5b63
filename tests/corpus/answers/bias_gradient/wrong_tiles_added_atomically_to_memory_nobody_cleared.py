# label: wrong
# title: tiles added atomically to memory nobody cleared
# says: With one program per tile the sums are added onto `total`, which is made by torch.empty: it starts
#   with whatever was there. It must be torch.zeros. Wrong for every input, however often it looks right by
#   luck.
# names: uninitialised memory

@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    tile = tl.load(dy_ptr + rows[:, None] * dy_row + cols[None, :] * dy_col, mask=mask, other=0.0)
    part = tl.sum(tile.to(tl.float32), axis=0)
    tl.atomic_add(db_ptr + cols, part, mask=cols < N)

def bias_gradient(dy):
    M, N = dy.shape
    total = torch.empty(N, dtype=torch.float32, device=dy.device)
    BLOCK_M, BLOCK_N = 64, 32
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    bias_gradient_kernel[grid](dy, total, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return total.to(dy.dtype)
