# label: right
# title: transposed and backwards

from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # a[i, k] lies at a_ptr + i * a_row + k * a_col, and so on; this program owns one tile of C
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M]
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N]
    m_ok, n_ok = rows < M, columns < N
    steps = tl.cdiv(K, BLOCK_K)
    k_last = (steps - 1) * BLOCK_K + tl.arange(0, BLOCK_K).to(tl.int64)
    ct = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    for back in range(0, steps):
        k = k_last - back * BLOCK_K
        k_ok = k < K
        at_ptrs = a_ptr + k[:, None] * a_col + rows[None, :] * a_row  # [BLOCK_K, BLOCK_M]
        bt_ptrs = b_ptr + columns[:, None] * b_col + k[None, :] * b_row  # [BLOCK_N, BLOCK_K]
        at = tl.load(at_ptrs, mask=k_ok[:, None] & m_ok[None, :], other=0.0)
        bt = tl.load(bt_ptrs, mask=n_ok[:, None] & k_ok[None, :], other=0.0)
        ct = tl.dot(bt, at, acc=ct, input_precision="ieee")
    c = tl.trans(ct).to(c_ptr.dtype.element_ty)
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, c, mask=m_ok[:, None] & n_ok[None, :])


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
