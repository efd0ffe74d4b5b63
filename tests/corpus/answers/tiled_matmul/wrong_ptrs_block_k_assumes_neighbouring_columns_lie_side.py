# label: wrong
# title: pointers of a moved on by BLOCK_K elements
# says: `a_ptrs += BLOCK_K` assumes that neighbouring columns of a lie side by side; it must be BLOCK_K *
#   a_col. For a transposed a, or one with gaps, every step after the first reads the wrong tile (K > 16).
# names: last tile missing

@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows[:, None] * a_row + k[None, :] * a_col)
    b_ptrs = b_ptr + (k[:, None] * b_row + columns[None, :] * b_col)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    remaining = K
    while remaining > 0:
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (k[None, :] < remaining), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < remaining) & (columns[None, :] < N), other=0.0)
        accumulator += tl.dot(a, b, input_precision="ieee")
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * b_row
        remaining -= BLOCK_K
    c_ptrs = c_ptr + c_row * rows[:, None] + c_col * columns[None, :]
    tl.store(c_ptrs, accumulator, mask=(rows[:, None] < M) & (columns[None, :] < N))

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
