"""Answers to lesson 05, written without a look at what the grader knows: the eleventh set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "tiled_matmul",
    "the line `b_at += BLOCK_K * b_col` moves B's tile by its column stride; the inner dimension "
    "of B is its rows, b_row",
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
    k = tl.arange(0, BLOCK_K)
    a_at = a_ptr + rows[:, None] * a_row + k[None, :] * a_col
    b_at = b_ptr + k[:, None] * b_row + columns[None, :] * b_col
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for left in range(K, 0, -BLOCK_K):
        a = tl.load(a_at, mask=(rows < M)[:, None] & (k < left)[None, :], other=0.0)
        b = tl.load(b_at, mask=(k < left)[:, None] & (columns < N)[None, :], other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
        a_at += BLOCK_K * a_col
        b_at += BLOCK_K * b_col
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, total,
             mask=(rows < M)[:, None] & (columns < N)[None, :])


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
        title="b walks along columns",
    )
)

wrong(
    "tiled_matmul",
    "`for step in range(K // BLOCK_K)` never visits the ragged rest of K, and tl.dot lacks "
    "input_precision='ieee' (TF32 for fp32)",
    "last block of K left out",
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
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(K // BLOCK_K):
        kk = step * BLOCK_K + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (kk[None, :] < K)
        b_mask = (kk[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * a_row + kk[None, :] * a_col, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + kk[:, None] * b_row + columns[None, :] * b_col, mask=b_mask, other=0.0)
        acc += tl.dot(a, b)
    c_mask = (rows[:, None] < M) & (columns[None, :] < N)
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc, mask=c_mask)


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
        title="floor of k and no ieee",
    )
)

wrong(
    "matmul_traffic",
    "every load is taken as a full tile: masked-out lanes of ragged tiles are counted, though "
    "they request nothing; C is padded too",
    "masked lanes counted",
)(
    written(
        """
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    grid = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    steps = sp.ceiling(K / B_K)
    per_step = B_M * B_K + B_K * B_N
    return e * grid * (steps * per_step + B_M * B_N)
""",
        title="whole tiles counted",
    )
)

wrong(
    "budget",
    "`accumulator` is scaled by size / 4 as if the accumulator had the dtype of the inputs; it is"
    " fp32, one register per number",
    "accumulator of the inputs' size",
)(
    written(
        """
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    threads = 32 * warps
    # a register has four bytes: two halves fit into one
    accumulator = block_m * block_n * size / 4 / threads
    one_pair = block_m * block_k * size + block_k * block_n * size
    shared = one_pair * buffers
    granted = (registers + 7) // 8 * 8
    limits = [
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        gpu.registers_per_sm // (granted * threads),
        gpu.shared_per_sm // (shared + 1024),
    ]
    return accumulator, shared, min(limits) * warps / gpu.warps_per_sm
""",
        title="half precision packs the accumulator",
    )
)

right("tiled_matmul", "transposed product")(
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
    out = tl.zeros((BLOCK_N, BLOCK_M), tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        k = step * BLOCK_K + tl.arange(0, BLOCK_K).to(tl.int64)
        bt = tl.load(b_ptr + columns[:, None] * b_col + k[None, :] * b_row,
                     mask=(columns < N)[:, None] & (k < K)[None, :], other=0.0)
        at = tl.load(a_ptr + k[:, None] * a_col + rows[None, :] * a_row,
                     mask=(k < K)[:, None] & (rows < M)[None, :], other=0.0)
        out = tl.dot(bt, at, out, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, tl.trans(out),
             mask=(rows < M)[:, None] & (columns < N)[None, :])


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
