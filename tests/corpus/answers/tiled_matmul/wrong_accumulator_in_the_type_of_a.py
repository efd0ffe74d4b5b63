# label: wrong
# title: accumulator in the type of a
# says: `acc` has a's element type and is rounded back to it in every step: for fp16 and bf16 a long K loses
#   digits. The sum belongs into fp32, with one conversion by the store.
# names: accumulator in half precision; precision

@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=a_ptr.dtype.element_ty)
    for k0 in range(0, K, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K).to(tl.int64)
        a = tl.load(
            a_ptr + rows[:, None] * a_row + k[None, :] * a_col,
            mask=(rows < M)[:, None] & (k < K)[None, :], other=0.0,
        )
        b = tl.load(
            b_ptr + k[:, None] * b_row + columns[None, :] * b_col,
            mask=(k < K)[:, None] & (columns < N)[None, :], other=0.0,
        )
        acc += tl.dot(a, b, input_precision="ieee").to(a_ptr.dtype.element_ty)
    tl.store(
        c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc,
        mask=(rows < M)[:, None] & (columns < N)[None, :],
    )

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
