"""Answers to lesson 05, written without a look at what the grader knows: the sixteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "tiled_matmul",
    "the pointers of both tiles move on by BLOCK_K per step, but the masks `inner < K` are those "
    "of the first tile (line `mask=... (inner < K) ...`), so a ragged last step reads beyond K "
    "instead of zeros.",
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
    inner = tl.arange(0, BLOCK_K).to(tl.int64)
    a_tile = a_ptr + rows[:, None] * a_row + inner[None, :] * a_col
    b_tile = b_ptr + inner[:, None] * b_row + columns[None, :] * b_col
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_tile, mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        b = tl.load(b_tile, mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        total += tl.dot(a, b, input_precision="ieee")
        a_tile += BLOCK_K * a_col
        b_tile += BLOCK_K * b_row
    c_tile = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(c_tile, total, mask=(rows[:, None] < M) & (columns[None, :] < N))


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
        title="inner mask stands still",
    )
)

wrong(
    "tiled_matmul",
    "the line `tl.dot(a, b, acc, ...)` takes tl.dot for an instruction that adds into acc in "
    "place (as CUDA's mma_sync does) and throws its result away, so C is all zeros.",
    "zero everywhere",
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
''',
        title="dot does not add in place",
    )
)

wrong(
    "matmul_traffic",
    "the two lines with `B_M * B_K` and `B_K * B_N` (and `tile_c`) charge each program for whole "
    "tiles, although masked-out lanes beyond M, N and K request nothing.",
    "masked lanes counted",
)(
    written(
        '''
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    """Bytes that tiled_matmul requests, loads and stores of all programs together."""
    programs = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    steps = sp.ceiling(K / B_K)
    tile_a = B_M * B_K
    tile_b = B_K * B_N
    tile_c = B_M * B_N
    per_program = steps * (tile_a + tile_b) + tile_c
    return e * programs * per_program
''',
        title="whole tiles are moved",
    )
)

wrong(
    "matmul_traffic",
    "two slips: the line `loads = ...` multiplies A by its own bands of rows and B by its own "
    "bands of columns (it is the other way round), and the line `stores = 4 * M * N` charges the "
    "store of C with the accumulator's four bytes; C is stored in its own dtype, e bytes per "
    "element.",
    "one edit",
)(
    written(
        '''
def matmul_traffic(M, N, K, B_M, B_N, B_K, e) -> sp.Expr:
    """Bytes that tiled_matmul requests, loads and stores of all programs together."""
    bands_of_rows, bands_of_columns = sp.ceiling(M / B_M), sp.ceiling(N / B_N)
    loads = e * K * (M * bands_of_rows + N * bands_of_columns)
    stores = 4 * M * N  # the sum is always in fp32
    return loads + stores
''',
        title="own bands and fp32",
    )
)

wrong(
    "budget",
    "the line `needed = registers + accumulator` adds the accumulator to the registers, which the"
    " compiler's figure already contains, so occupancy is too low.",
    "one edit",
)(
    written(
        '''
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    threads = 32 * warps
    accumulator = block_m * block_n / threads
    shared = buffers * size * block_k * (block_m + block_n)
    needed = registers + accumulator
    needed = 8 * math.ceil(needed / 8)
    resident = [
        gpu.warps_per_sm // warps,
        gpu.blocks_per_sm,
        gpu.registers_per_sm // (needed * threads),
        gpu.shared_per_sm // (shared + 1024),
    ]
    return accumulator, shared, min(resident) * warps / gpu.warps_per_sm
''',
        title="accumulator on top",
    )
)

wrong(
    "budget",
    "two slips: the return line divides resident blocks by `gpu.blocks_per_sm` instead of "
    "resident warps by warps_per_sm, and the accumulator line counts bytes (a factor of 4) "
    "instead of registers.",
    "occupancy of blocks",
)(
    written(
        '''
def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    """(accumulator, shared, occupancy) of a block shape: registers per thread, bytes, a fraction."""
    accumulator = 4 * block_m * block_n / (32 * warps)  # fp32: 4 bytes
    pair = block_m * block_k + block_k * block_n
    shared = buffers * pair * size

    r = (registers + 7) // 8 * 8
    by_warps = gpu.warps_per_sm // warps
    by_registers = gpu.registers_per_sm // (r * 32 * warps)
    by_shared = gpu.shared_per_sm // (shared + 1024)
    blocks = min(by_warps, gpu.blocks_per_sm, by_registers, by_shared)
    return accumulator, shared, blocks / gpu.blocks_per_sm
''',
        title="two slips",
    )
)

right("tiled_matmul", "transposed and backwards")(
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
'''
    )
)
