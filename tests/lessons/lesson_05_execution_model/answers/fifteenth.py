"""Answers to lesson 05, written without a look at what the grader knows: the fifteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "tiled_matmul",
    "the pointers into b advance by BLOCK_K * b_col instead of BLOCK_K * b_row: the second step "
    "reads other columns, not the next rows",
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
    ks = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + rows[:, None] * a_row + ks[None, :] * a_col
    b_ptrs = b_ptr + ks[:, None] * b_row + columns[None, :] * b_col
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - step * BLOCK_K
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (ks[None, :] < left), other=0.0)
        b = tl.load(b_ptrs, mask=(ks[:, None] < left) & (columns[None, :] < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
        a_ptrs += BLOCK_K * a_col
        b_ptrs += BLOCK_K * b_col
    out = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(out, accumulator, mask=(rows[:, None] < M) & (columns[None, :] < N))


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
        title="b advances along columns",
    )
)

wrong(
    "tiled_matmul",
    "`total` has the dtype of c and each product is converted to it before it is added, so fp16 "
    "and bf16 sums are rounded after every step",
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
    dtype = c_ptr.dtype.element_ty
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=dtype)
    row_ok = (rows < M)[:, None]
    col_ok = (columns < N)[None, :]
    for k0 in range(0, K, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K).to(tl.int64)
        a = tl.load(a_ptr + rows[:, None] * a_row + k[None, :] * a_col, mask=row_ok & (k < K)[None, :], other=0.0)
        b = tl.load(b_ptr + k[:, None] * b_row + columns[None, :] * b_col, mask=(k < K)[:, None] & col_ok, other=0.0)
        total += tl.dot(a, b, input_precision="ieee").to(dtype)
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, total, mask=row_ok & col_ok)


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
        title="sum in output dtype",
    )
)

wrong(
    "matmul_traffic",
    "C is counted once for every step along K (factor ceiling(K / B_K)), though the accumulator "
    "stays in registers and C is stored once",
    "C once per step",
)(
    written(
        '''
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    """Bytes that tiled_matmul requests, loads and stores of all programs together."""
    steps = sp.ceiling(K / B_K)
    a = M * K * sp.ceiling(N / B_N)
    b = K * N * sp.ceiling(M / B_M)
    c = M * N * steps
    return (a + b + c) * e
''',
        title="c written every step",
    )
)

wrong(
    "budget",
    "two mistakes: the limit by registers is counted in single warps and not in whole blocks "
    "(`warps_by_registers`), and the 1024 bytes that every block costs beside its own shared "
    "memory are left out",
    "one edit",
)(
    written(
        '''
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    threads = 32 * warps
    accumulator = block_m * block_n / threads
    shared = (block_m * block_k + block_k * block_n) * size * buffers
    rounded = (registers + 7) // 8 * 8
    warps_by_registers = gpu.registers_per_sm // (rounded * 32)
    warps_by_shared = gpu.shared_per_sm // shared * warps
    warps_by_blocks = gpu.blocks_per_sm * warps
    resident = min(gpu.warps_per_sm, warps_by_registers, warps_by_shared, warps_by_blocks)
    return accumulator, shared, resident / gpu.warps_per_sm
''',
        title="warps not whole blocks",
    )
)

wrong(
    "tiled_matmul",
    "the pointers into b advance by BLOCK_K * b_col where rows of b are b_row apart.",
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
    ra = rows % M  # stays inside a; what a wrapped row gives is not stored
    cb = columns % N
    kk = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + ra[:, None] * a_row + kk[None, :] * a_col
    b_ptrs = b_ptr + kk[:, None] * b_row + cb[None, :] * b_col
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for t in range(0, tl.cdiv(K, BLOCK_K)):
        rest = K - t * BLOCK_K
        a = tl.load(a_ptrs, mask=kk[None, :] < rest, other=0.0)
        b = tl.load(b_ptrs, mask=kk[:, None] < rest, other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K * a_col
        b_ptrs += BLOCK_K * b_col
    tl.store(
        c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc.to(c_ptr.dtype.element_ty),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


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
        title="wrapped rows and columns",
    )
)
