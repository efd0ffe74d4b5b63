# label: wrong
# title: strides of b exchanged
# says: In the address of b the inner index is multiplied by b_col and the columns by b_row: that is the
#   transposed matrix. Wrong for every b that is not symmetric, out of bounds for K ≠ N.
# names: out_of_bounds

@triton.jit
def load_tile(ptr, i, j, i_end, j_end, i_stride, j_stride):
    mask = (i < i_end)[:, None] & (j < j_end)[None, :]
    return tl.load(ptr + i[:, None] * i_stride + j[None, :] * j_stride, mask=mask, other=0.0)

@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K).to(tl.int64)
        a = load_tile(a_ptr, rows, inner, M, K, a_row, a_col)
        b = load_tile(b_ptr, inner, columns, K, N, b_col, b_row)
        acc += tl.dot(a, b, input_precision="ieee")
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc, mask=mask)

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
