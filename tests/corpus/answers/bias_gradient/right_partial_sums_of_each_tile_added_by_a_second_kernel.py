# label: right
# title: partial sums of each tile added by a second kernel

@triton.jit
def tile_sums_kernel(dy_ptr, part_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    i = t * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (i < M)[:, None] & (j < N)[None, :]
    dy = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=mask, other=0.0)
    tl.store(part_ptr + t * N + j, tl.sum(dy.to(tl.float32), axis=0), mask=j < N)

@triton.jit
def add_parts_kernel(part_ptr, db_ptr, tiles, N, BLOCK_N: tl.constexpr):
    j = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    db = tl.zeros([BLOCK_N], tl.float32)
    for t in range(tiles):
        db += tl.load(part_ptr + t * N + j, mask=j < N, other=0.0)
    tl.store(db_ptr + j, db, mask=j < N)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 64, 32
    tiles, strips = triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N)
    parts = torch.empty((tiles, N), dtype=torch.float32, device=dy.device)
    tile_sums_kernel[(tiles, strips)](dy, parts, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    add_parts_kernel[(strips,)](parts, db, tiles, N, BLOCK_N=BLOCK_N)
    return db
