"""Answers to lesson 05, written without a look at what the grader knows: the twelfth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "budget",
    "two: shared memory is counted in elements (the factor `size` is missing), and the "
    "accumulator is divided by warps instead of by 32 · warps threads.",
    "elements, not bytes + accumulator of a warp",
)(
    written(
        """
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    accumulator = block_m * block_n / warps
    shared = buffers * (block_m * block_k + block_k * block_n)
    rounded = math.ceil(registers / 8) * 8
    blocks = min(
        gpu.shared_per_sm // (shared + 1024),
        gpu.registers_per_sm // (rounded * 32 * warps),
        gpu.warps_per_sm // warps,
        gpu.blocks_per_sm,
    )
    return accumulator, shared, blocks * warps / gpu.warps_per_sm
""",
        title="elements and no warp limit",
    )
)

wrong(
    "budget",
    "the last line returns blocks over blocks_per_sm; occupancy is resident warps over the most "
    "possible warps.",
    "occupancy of blocks",
)(
    written(
        """
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    acc = block_m * block_n / (warps * 32)
    smem = size * buffers * (block_m * block_k + block_k * block_n)
    regs = ((registers + 7) // 8) * 8
    by_regs = gpu.registers_per_sm // (regs * warps * 32)
    by_smem = gpu.shared_per_sm // (smem + 1024)
    by_warps = gpu.warps_per_sm // warps
    resident = min(by_regs, by_smem, by_warps, gpu.blocks_per_sm)
    return acc, smem, resident / gpu.blocks_per_sm
""",
        title="occupancy in blocks",
    )
)

wrong(
    "matmul_traffic",
    "counts each matrix once, M·K + K·N + M·N: the unique bytes, not the requested ones.",
    "each byte once",
)(
    written(
        """
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    return e * (M * K + K * N + M * N)
""",
        title="unique bytes",
    )
)

wrong(
    "tiled_matmul",
    "the mask of b is `ok_n[None, :]` alone: in the last step of K rows beyond the end of B are read.",
    "out_of_bounds",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # a[i, k] lies at a_ptr + i * a_row + k * a_col, and so on; this program owns one tile of C
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M]
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N]
    ok_m, ok_n = rows < M, columns < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        kk = step * BLOCK_K + tl.arange(0, BLOCK_K).to(tl.int64)
        a = tl.load(a_ptr + rows[:, None] * a_row + kk[None, :] * a_col, mask=ok_m[:, None] & (kk < K)[None, :], other=0.0)
        b = tl.load(b_ptr + kk[:, None] * b_row + columns[None, :] * b_col, mask=ok_n[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc, mask=ok_m[:, None] & ok_n[None, :])


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
        title="b mask without k",
    )
)

wrong(
    "tiled_matmul",
    "`acc` has the dtype of a and each product is rounded to it (`.to(acc.dtype)`): sums of fp16 in fp16.",
    "precision",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    # a[i, k] lies at a_ptr + i * a_row + k * a_col, and so on; this program owns one tile of C
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)  # [BLOCK_M]
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)  # [BLOCK_N]
    ok_m, ok_n = rows < M, columns < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=a_ptr.dtype.element_ty)
    for k0 in range(0, K, BLOCK_K):
        kk = k0 + tl.arange(0, BLOCK_K).to(tl.int64)
        a = tl.load(a_ptr + rows[:, None] * a_row + kk[None, :] * a_col, mask=ok_m[:, None] & (kk < K)[None, :], other=0.0)
        b = tl.load(b_ptr + kk[:, None] * b_row + columns[None, :] * b_col, mask=(kk < K)[:, None] & ok_n[None, :], other=0.0)
        acc += tl.dot(a, b, input_precision="ieee").to(acc.dtype)
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc, mask=ok_m[:, None] & ok_n[None, :])


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
        title="half accumulator",
    )
)

right("tiled_matmul", "moving pointers")(
    written(
        '''
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
'''
    )
)
