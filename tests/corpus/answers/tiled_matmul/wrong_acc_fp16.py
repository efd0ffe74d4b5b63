# label: wrong
# title: acc fp16
# says: line `acc += tl.dot`: the accumulator is rounded to the dtype of a after each step
# names: accumulator in half precision

from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
  
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_rows, in_columns = rows < M, columns < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K).to(tl.int64)
        in_inner = inner < K
      
        a = tl.load(
            a_ptr + rows[:, None] * a_row + inner[None, :] * a_col,
            mask=in_rows[:, None] & in_inner[None, :], other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * b_row + columns[None, :] * b_col,
            mask=in_inner[:, None] & in_columns[None, :], other=0.0,
        )
        acc = (acc + tl.dot(a, b, input_precision="ieee")).to(a.dtype).to(tl.float32)
    c_ptrs = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(c_ptrs, acc, mask=in_rows[:, None] & in_columns[None, :])


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
