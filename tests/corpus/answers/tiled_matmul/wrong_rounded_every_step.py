# label: wrong
# title: rounded every step
# says: line acc = (acc + part).to(a_ptr.dtype.element_ty).to(tl.float32): the running sum is rounded to the
#   dtype of the inputs in every step, although it should stay fp32
# names: accumulator in half precision

from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k0 in range(0, K, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K).to(tl.int64)
        x = tl.load(a_ptr + m[:, None] * a_row + k[None, :] * a_col,
                    mask=(m < M)[:, None] & (k < K)[None, :], other=0.0)
        y = tl.load(b_ptr + k[:, None] * b_row + n[None, :] * b_col,
                    mask=(k < K)[:, None] & (n < N)[None, :], other=0.0)
        part = tl.dot(x, y, input_precision="ieee")
        acc = (acc + part).to(a_ptr.dtype.element_ty).to(tl.float32)
    tl.store(c_ptr + m[:, None] * c_row + n[None, :] * c_col, acc, mask=(m < M)[:, None] & (n < N)[None, :])


def tiled_matmul(
    a: Tensor, b: Tensor, BLOCK_M: int = 32, BLOCK_N: int = 64, BLOCK_K: int = 16, **options: int
) -> Tensor:
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
