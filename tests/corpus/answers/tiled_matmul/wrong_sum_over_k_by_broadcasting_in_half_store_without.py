# label: wrong
# title: sum over k by broadcasting in half and a store without mask
# says: Two mistakes: the products a[:, :, None] * b[None, :, :] and their sum are taken in the inputs' type,
#   so fp16 and bf16 are not summed in fp32; and the store has no mask, so a tile that hangs over the edge
#   writes outside of C or into the next row.
# names: store without mask; store without mask + accumulator in half precision

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
        a = tl.load(
            a_ptr + rows[:, None] * a_row + inner[None, :] * a_col,
            mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * b_row + columns[None, :] * b_col,
            mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0,
        )
        acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc)

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
