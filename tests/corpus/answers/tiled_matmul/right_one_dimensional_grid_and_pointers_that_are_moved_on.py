# label: right
# title: one-dimensional grid and pointers that are moved on

@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    across = tl.cdiv(N, BLOCK_N)
    rows = pid // across * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid % across * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + rows[:, None] * a_row + k[None, :] * a_col
    b_ptrs = b_ptr + k[:, None] * b_row + columns[None, :] * b_col
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for done in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (k[None, :] < K - done), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - done) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += a_col * BLOCK_K
        b_ptrs += b_row * BLOCK_K
    tl.store(
        c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc.to(c_ptr.dtype.element_ty),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    programs = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    tiled_matmul_kernel[(programs,)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
