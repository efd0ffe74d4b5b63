# label: wrong
# title: dot does not add in place
# says: the line `tl.dot(a, b, acc, ...)` takes tl.dot for an instruction that adds into acc in place (as
#   CUDA's mma_sync does) and throws its result away, so C is all zeros.
# names: zero everywhere

from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # a[i, k] lies at a_ptr + i * a_row + k * a_col, and so on; this program owns one tile of C
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M]
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N]
    i = rows[:, None]
    j = columns[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, K, BLOCK_K):
        kk = (k0 + tl.arange(0, BLOCK_K)).to(tl.int64)
        ka, kb = kk[None, :], kk[:, None]
        a = tl.load(a_ptr + i * a_row + ka * a_col, mask=(i < M) & (ka < K), other=0.0)
        b = tl.load(b_ptr + kb * b_row + j * b_col, mask=(kb < K) & (j < N), other=0.0)
        tl.dot(a, b, acc, input_precision="ieee")  # acc += a @ b on the tensor cores
    tl.store(c_ptr + i * c_row + j * c_col, acc.to(c_ptr.dtype.element_ty), mask=(i < M) & (j < N))


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
