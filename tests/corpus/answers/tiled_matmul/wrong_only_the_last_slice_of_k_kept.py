# label: wrong
# title: only the last slice of K kept
# says: `acc = tl.dot(a, b)` replaces the sum in every step instead of adding to it: what is stored is the
#   product of the last slice alone. Right only for K ≤ BLOCK_K.
# names: accumulator overwritten

@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_mask, column_mask = rows[:, None] < M, columns[None, :] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        inner = (step * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
        a = tl.load(
            a_ptr + rows[:, None] * a_row + inner[None, :] * a_col,
            mask=row_mask & (inner[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + inner[:, None] * b_row + columns[None, :] * b_col,
            mask=column_mask & (inner[:, None] < K), other=0.0
        )
        acc = tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc, mask=row_mask & column_mask)

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
