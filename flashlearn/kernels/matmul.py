"""C = A B, tile by tile: one program per tile of C, scanning the inner dimension in blocks.

    >>> a, b = torch.ones(4, 2), torch.ones(2, 3)
    >>> tiled_matmul(a, b)                          # [[2., 2., 2.], …], 4 × 3

A and B may have any strides; C is contiguous, in A's dtype; products are summed in fp32. The lines
between BEGIN and END SOLUTION are lesson 05's exercise. For speed, lesson 12 has more to say.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

__all__ = ["tiled_matmul"]


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    # a[i, k] lies at a_ptr + i * a_row + k * a_col, and so on; this program owns one tile of C
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M]
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N]
    ### BEGIN SOLUTION
    # STUB: tl.static_assert(False, "TODO tiled_matmul: loop over K, masked loads, tl.dot into acc; store")
    in_rows, in_columns = rows < M, columns < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)  # lives in registers during the whole loop
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K).to(tl.int64)  # [BLOCK_K]
        in_inner = inner < K
        # padding adds a · 0 to the sum: one zero of the two would do, unless the other were inf or NaN
        a = tl.load(
            a_ptr + rows[:, None] * a_row + inner[None, :] * a_col,
            mask=in_rows[:, None] & in_inner[None, :], other=0.0,
        )  # fmt: skip
        b = tl.load(
            b_ptr + inner[:, None] * b_row + columns[None, :] * b_col,
            mask=in_inner[:, None] & in_columns[None, :], other=0.0,
        )  # fmt: skip
        acc += tl.dot(a, b, input_precision="ieee")
    c_ptrs = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(c_ptrs, acc, mask=in_rows[:, None] & in_columns[None, :])  # converts to the dtype of c
    ### END SOLUTION


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
    )  # fmt: skip
    return c
