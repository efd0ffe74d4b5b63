"""Answers to lesson 05, written without a look at what the grader knows: the fourteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "tiled_matmul",
    "line `acc += tl.dot`: the accumulator is rounded to the dtype of a after each step",
    "accumulator in half precision",
)(
    written(
        '''
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
''',
        title="acc fp16",
    )
)

wrong(
    "tiled_matmul",
    "line `pb += `: b is advanced along K by BLOCK_K * b_col, the column stride",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def gemm(A, B, C, M, N, K, am, ak, bk, bn, cm, cn, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    by, bx = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    m = by * TM + tl.arange(0, TM)
    n = bx * TN + tl.arange(0, TN)
    kk = tl.arange(0, TK)
    pa = A + m[:, None] * am + kk[None, :] * ak
    pb = B + kk[:, None] * bk + n[None, :] * bn
    c = tl.zeros((TM, TN), tl.float32)
    for k0 in range(0, K, TK):
        left = K - k0
        a = tl.load(pa, mask=(m < M)[:, None] & (kk < left)[None, :], other=0.0)
        b = tl.load(pb, mask=(kk < left)[:, None] & (n < N)[None, :], other=0.0)
        c += tl.dot(a, b, input_precision="ieee")
        pa += TK * ak
        pb += TK * bn
    tl.store(C + m[:, None] * cm + n[None, :] * cn, c, mask=(m < M)[:, None] & (n < N)[None, :])


def tiled_matmul(
    a: Tensor, b: Tensor, BLOCK_M: int = 32, BLOCK_N: int = 64, BLOCK_K: int = 16, **options: int
) -> Tensor:
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    gemm[(triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), TM=BLOCK_M, TN=BLOCK_N, TK=BLOCK_K, **options)
    return c
""",
        title="ptr advance by block rows",
    )
)

wrong(
    "matmul_traffic",
    "line `return`: C is counted for each step of K, as if the tile were written back in every step",
    "C once per step",
)(
    written(
        """
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    a_bytes = M * K * sp.ceiling(N / B_N)
    b_bytes = K * N * sp.ceiling(M / B_M)
    c_bytes = M * N * sp.ceiling(K / B_K)
    return (a_bytes + b_bytes + c_bytes) * e
""",
        title="c read and written",
    )
)

wrong(
    "budget",
    "line `gpu.registers_per_sm // ...`: registers per thread times warps, without the 32 threads of a warp",
    "limited by shared memory alone",
)(
    written(
        '''
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    accumulator = block_m * block_n / (32 * warps)
    shared = buffers * (block_m + block_n) * block_k * size
    per_thread = -(-registers // 8) * 8  # rounded up to a multiple of 8
    blocks = min(
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (per_thread * warps),
        gpu.shared_per_sm // (shared + 1024),
    )
    return accumulator, shared, blocks * warps / gpu.warps_per_sm
''',
        title="threads not warps",
    )
)
