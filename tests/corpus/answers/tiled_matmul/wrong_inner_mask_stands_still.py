# label: wrong
# title: inner mask stands still
# says: the pointers of both tiles move on by BLOCK_K per step, but the masks `inner < K` are those of the
#   first tile (line `mask=... (inner < K) ...`), so a ragged last step reads beyond K instead of zeros.
# names: out_of_bounds

from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # a[i, k] lies at a_ptr + i * a_row + k * a_col, and so on; this program owns one tile of C
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M]
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N]
    inner = tl.arange(0, BLOCK_K).to(tl.int64)
    a_tile = a_ptr + rows[:, None] * a_row + inner[None, :] * a_col
    b_tile = b_ptr + inner[:, None] * b_row + columns[None, :] * b_col
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_tile, mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_tile, mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total += tl.dot(a, b, input_precision="ieee")
        a_tile += BLOCK_K * a_col
        b_tile += BLOCK_K * b_row
    c_tile = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(c_tile, total, mask=(rows[:, None] < M) & (columns[None, :] < N))


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
