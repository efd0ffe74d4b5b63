# label: right
# title: backwards over k

from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    steps = tl.cdiv(K, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for t in range(steps):
        k = (steps - 1 - t) * BLOCK_K + tl.arange(0, BLOCK_K).to(tl.int64)
        left = tl.load(a_ptr + m * a_row + k[None, :] * a_col, mask=(m < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b_ptr + k[:, None] * b_row + n * b_col, mask=(k[:, None] < K) & (n < N), other=0.0)
        total = tl.dot(left, right, total, input_precision="ieee")
    tl.store(c_ptr + m * c_row + n * c_col, total, mask=(m < M) & (n < N))


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
