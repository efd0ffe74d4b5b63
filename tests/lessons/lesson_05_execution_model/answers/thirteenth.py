"""Answers to lesson 05, written without a look at what the grader knows: the thirteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "tiled_matmul",
    "mask offs_k < K: the pointers walk on, but the mask of the inner dimension stays that of the"
    " first tile, so the last tile reads beyond K",
    "out_of_bounds",
)(
    written(
        """
from torch import Tensor


@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    offs_m = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_k = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + offs_m[:, None] * a_row + offs_k[None, :] * a_col
    b_ptrs = b_ptr + offs_k[:, None] * b_row + offs_n[None, :] * b_col
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_ptrs, mask=(offs_m[:, None] < M) & (offs_k[None, :] < K), other=0.0)
        b = tl.load(b_ptrs, mask=(offs_k[:, None] < K) & (offs_n[None, :] < N), other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
        a_ptrs += BLOCK_K * a_col
        b_ptrs += BLOCK_K * b_row
    c_ptrs = c_ptr + offs_m[:, None] * c_row + offs_n[None, :] * c_col
    tl.store(c_ptrs, accumulator, mask=(offs_m[:, None] < M) & (offs_n[None, :] < N))


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
""",
        title="k mask never moves",
    )
)

wrong(
    "tiled_matmul",
    "line acc = (acc + part).to(a_ptr.dtype.element_ty).to(tl.float32): the running sum is "
    "rounded to the dtype of the inputs in every step, although it should stay fp32",
    "accumulator in half precision",
)(
    written(
        """
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
""",
        title="rounded every step",
    )
)

wrong(
    "matmul_traffic",
    "lines m * B_M etc.: counts whole tiles, as if masked-out lanes requested bytes too",
    "masked lanes counted",
)(
    written(
        """
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    m, n, k = sp.ceiling(M / B_M), sp.ceiling(N / B_N), sp.ceiling(K / B_K)
    per_step = B_M * B_K + B_K * B_N
    return e * m * n * (k * per_step + B_M * B_N)
""",
        title="whole tiles",
    )
)

wrong(
    "budget",
    "line blocks / gpu.blocks_per_sm: occupancy is asked for in warps over warps_per_sm, this is "
    "resident blocks over the most blocks",
    "occupancy of blocks",
)(
    written(
        """
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    threads = 32 * warps
    shared = (block_m * block_k + block_k * block_n) * size * buffers
    rounded = (registers + 7) // 8 * 8
    limits = [
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (rounded * threads),
        gpu.shared_per_sm // (shared + 1024),
    ]
    return block_m * block_n / threads, shared, min(limits) / gpu.blocks_per_sm
""",
        title="fraction of blocks",
    )
)

right("tiled_matmul", "backwards over k")(
    written(
        '''
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
'''
    )
)
