# label: right
# title: moving pointers

from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # a[i, k] lies at a_ptr + i * a_row + k * a_col, and so on; this program owns one tile of C
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M]
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N]
    inside_m = (rows < M)[:, None]
    inside_n = (columns < N)[None, :]
    kk = tl.arange(0, BLOCK_K).to(tl.int64)
    a_at = a_ptr + rows[:, None] * a_row + kk[None, :] * a_col
    b_at = b_ptr + kk[:, None] * b_row + columns[None, :] * b_col
    stride_a = tl.full((), BLOCK_K, tl.int64) * a_col
    stride_b = tl.full((), BLOCK_K, tl.int64) * b_row
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        here = kk < K - step * BLOCK_K
        a = tl.load(a_at, mask=inside_m & here[None, :], other=0.0)
        b = tl.load(b_at, mask=inside_n & here[:, None], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_at += stride_a
        b_at += stride_b
    c_at = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(c_at, acc.to(c_ptr.dtype.element_ty), mask=inside_m & inside_n)


def tiled_matmul(
    a: Tensor, b: Tensor, BLOCK_M: int = 32, BLOCK_N: int = 64, BLOCK_K: int = 16, **options: int
) -> Tensor:
    """C = A B: [M, K] and [K, N] of any strides → [M, N] contiguous. `options`: num_warps, num_stages."""
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
