# label: wrong
# title: inner dimension never masked
# says: Both loads are masked in rows or columns only; for a K that is no multiple of 16 the last step reads a
#   beyond its columns and b beyond its rows, and what is found there is added to the sum.
# names: inner dimension not masked

@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K).to(tl.int64)
    a_tile = a_ptr + rows[:, None] * a_row + inner[None, :] * a_col
    b_tile = b_ptr + inner[:, None] * b_row + columns[None, :] * b_col
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_tile, mask=(rows < M)[:, None], other=0.0)
        b = tl.load(b_tile, mask=(columns < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_tile += BLOCK_K * a_col
        b_tile += BLOCK_K * b_row
    out = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(out, acc, mask=(rows < M)[:, None] & (columns < N)[None, :])

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
