"""The named mistakes of lesson 05: a tiled product, its traffic, and what a block shape costs."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_05_execution_model import block_budget as right
from flashlearn.lessons.lesson_05_execution_model import faulty_kernels as broken
from flashlearn.lessons.shared.faulty_formulas.faults import made
from flashlearn.lessons.shared.faulty_formulas.sums import matmul

MATMUL = {
    "accumulator overwritten": Mistake(
        "Each step of the loop replaces the accumulator, so that only the last block of the inner dimension "
        "is left in C.",
        "acc += tl.dot(a, b): one tile of C is a sum over all blocks of K.",
        **made(matmul, "last tile only"),
    ),
    "last block of K left out": Mistake(
        "The last block of the inner dimension is missing from C: the loop ends too early.",
        "range(0, K, BLOCK_K) reaches the last block, full or not; its padding is the masks' business.",
        **made(matmul, "ragged tile left out", also=("last tile left out",)),
    ),
    "last element of K left out": Mistake(
        "Every sum lacks its last product: of the inner dimension the elements 0 to K − 2 are taken.",
        "The last index is K − 1: a mask of inner < K lets it through.",
        **made(matmul, "last line left out"),
    ),
    "addresses do not advance": Mistake(
        "Every step of the loop multiplies the first blocks of A and B again: the addresses do not move with "
        "the loop.",
        "Compute the inner index inside the loop, start + arange, or advance the pointers at its end.",
        **made(matmul, "A stays", "B stays"),
    ),
    "A's pointer is not advanced": Mistake(
        "Every step of the loop takes the first block of A, while B moves on.",
        "A's columns are those of the step, as B's rows are: start + arange.",
        **made(matmul, "A stays"),
    ),
    "B's pointer is not advanced": Mistake(
        "Every step of the loop takes the first block of B, while A moves on.",
        "B's rows are those of the step, as A's columns are: start + arange.",
        **made(matmul, "B stays"),
    ),
    "first block of K left out": Mistake(
        "The loop starts one block late: the first block of the inner dimension is missing from C.",
        "range(0, K, BLOCK_K) starts at 0.",
        **made(matmul, "first tile left out"),
    ),
    "tiles not turned back": Mistake(
        "Each tile of C holds the right numbers, transposed in its place: a tile of Cᵀ was computed, and "
        "stored with the addresses of a tile of C.",
        "tl.trans(acc) turns a tile; or exchange the two index vectors in the addresses of the store.",
        **made(matmul, "tiles not turned back"),
    ),
    "inner dimension not masked": Mistake(
        "The mask guards rows and columns, but not the inner dimension: the last block of the loop reaches "
        "beyond K, into the next row, and from the last row beyond the matrix.",
        "Both loads need inner < K in their mask; the padding must be 0, since it enters the sum.",
        launcher=broken.inner_without_mask,
        status="OUT_OF_BOUNDS",
    ),
    "store without mask": Mistake(
        "The loads are masked but the store is not: a tile at the edge writes beyond C.",
        "tl.store takes the mask of rows and columns.",
        launcher=broken.store_without_mask,
        status="OUT_OF_BOUNDS",
    ),
    "strides of A used for B": Mistake(
        "B is addressed with the strides of A. Both are matrices of their own, and their rows are of "
        "different lengths.",
        "Address B with b_row and b_col.",
        launcher=broken.other_strides,
        status="OUT_OF_BOUNDS",
    ),
    "views taken for contiguous": Mistake(
        "The addresses assume rows that lie side by side; in a slice or a transposed view they do not.",
        "Use the strides that the launcher passes, a_row and a_col, b_row and b_col.",
        launcher=broken.unit_strides,
        status="OUT_OF_BOUNDS",
    ),
    "programs swapped": Mistake(
        "Rows come from program_id(1) and columns from program_id(0), but the grid counts blocks of rows "
        "first: where the two counts differ, tiles of C belong to nobody.",
        "grid = (blocks of rows, blocks of columns): program_id(0) is the tile's row.",
        launcher=broken.programs_swapped,
    ),
    "accumulator in half precision": Mistake(
        "The running sum is kept in half precision: each step rounds it, and a sum that grows over many "
        "blocks loses what each of them adds.",
        "Let acc be fp32, tl.zeros(…, dtype=tl.float32), and convert once, when storing.",
        launcher=broken.accumulator_in_half,
    ),
}


def _traffic(loads_a, loads_b, stores=1, size=True):
    """A wrong formula from how often A, B and C move, as functions of (M, N, B_M, B_N)."""

    def wrong(M, N, K, B_M, B_N, B_K, e):
        a, b = loads_a(M, N, B_M, B_N), loads_b(M, N, B_M, B_N)
        return (e if size else 1) * (M * K * a + K * N * b + stores * M * N)

    return wrong


def _columns(M, N, B_M, B_N):
    return sp.ceiling(N / B_N)


def _rows(M, N, B_M, B_N):
    return sp.ceiling(M / B_M)


def _padded(M, N, K, B_M, B_N, B_K, e):
    """Whole tiles everywhere, masked lanes counted too."""
    tiles = sp.ceiling(M / B_M) * sp.ceiling(N / B_N)
    inner = sp.ceiling(K / B_K) * B_K
    return e * tiles * (B_M * inner + inner * B_N + B_M * B_N)


TRAFFIC = {
    "each byte once": Mistake(
        "You counted each byte once, M·K + K·N + M·N elements: those are the unique bytes. Programs do not "
        "know of each other, and each loads what it needs.",
        "How many programs need row 0 of A? Each of them requests it.",
        wrong=_traffic(lambda *_: 1, lambda *_: 1),
    ),
    "rows and columns exchanged": Mistake(
        "A is counted once per block of its rows, and B once per block of its columns. It is the other way "
        "round: programs side by side in a row of C load the same rows of A.",
        "A row of A is needed for all columns of C: count the blocks of columns.",
        wrong=_traffic(_rows, _columns),
    ),
    "elements, not bytes": Mistake(
        "That is the number of elements: the bytes per element, e, are missing.",
        "Multiply by e.",
        wrong=_traffic(_columns, _rows, size=False),
    ),
    "C left out": Mistake(
        "What the programs store is missing.",
        "Each element of C is written once: M·N of them.",
        wrong=_traffic(_columns, _rows, stores=0),
    ),
    "C read as well": Mistake(
        "C is counted twice, as if it were read and written. The accumulator lives in registers; C is only "
        "written, once.",
        "Look at the kernel: how many loads of c_ptr are there?",
        wrong=_traffic(_columns, _rows, stores=2),
    ),
    "one element per program": Mistake(
        "You counted as if each element of C had a program of its own: N rows of A's loads and M of B's. A "
        "tile shares what it loads among B_M · B_N elements.",
        "Count programs, not elements: N/B_N of them, rounded up, side by side.",
        wrong=_traffic(lambda M, N, B_M, B_N: N, lambda M, N, B_M, B_N: M),
    ),
    "sizes need not divide": Mistake(
        "N/B_N is right where blocks divide the sizes. A ragged edge has a program too, and that program "
        "loads the same rows of A as the others.",
        "Round the number of programs up: sp.ceiling(N / B_N).",
        wrong=_traffic(lambda M, N, B_M, B_N: N / B_N, lambda M, N, B_M, B_N: M / B_M),
    ),
    "rounded down": Mistake(
        "You rounded the number of programs down. A ragged edge has a program too, and where a size is "
        "smaller than its block nothing at all would be loaded.",
        "Round up: sp.ceiling(N / B_N).",
        wrong=_traffic(lambda M, N, B_M, B_N: sp.floor(N / B_N), lambda M, N, B_M, B_N: sp.floor(M / B_M)),
    ),
    "masked lanes counted": Mistake(
        "You counted whole tiles, also where they hang over the edge. A lane that the mask switches off "
        "requests nothing.",
        "Count what lies inside: over all programs of a row, the rows of A have exactly M·K elements.",
        wrong=_padded,
    ),
}


def _budget(accumulator=None, shared=None, by_registers=None, by_shared=None, unit=1):
    """A wrong budget with one of its four parts replaced; the others are right."""

    def wrong(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
        tile = (block_m, block_n, block_k, size, buffers)
        acc = (accumulator or right.accumulator_registers)(block_m, block_n, warps)
        taken = (shared or right.staged_bytes)(*tile)
        blocks = min(
            gpu.blocks_per_sm,
            gpu.warps_per_sm // warps,
            (by_registers or right.blocks_by_registers)(registers, warps, gpu),
            (by_shared or right.blocks_by_shared)(taken, gpu),
        )
        return acc, taken, unit * sp.Rational(blocks * warps, gpu.warps_per_sm)

    return wrong


UNLIMITED = 10**6

BUDGET = {
    "buffers forgotten": Mistake(
        "The shared memory is one tile of A and one of B; the loop keeps `buffers` pairs in flight.",
        "Multiply by buffers.",
        wrong=_budget(shared=lambda m, n, k, size, buffers: (m * k + k * n) * size),
    ),
    "elements, not bytes": Mistake(
        "The shared memory is counted in elements; it is asked for in bytes.",
        "Multiply by size, the bytes per element.",
        wrong=_budget(shared=lambda m, n, k, size, buffers: (m * k + k * n) * buffers),
    ),
    "accumulator in shared memory": Mistake(
        "The shared memory includes the accumulator's tile. It lives in registers, BLOCK_M · BLOCK_N fp32 "
        "numbers spread over the program's threads.",
        "Only what is loaded is staged: a tile of A and a tile of B per buffer.",
        wrong=_budget(shared=lambda m, n, k, size, buffers: (m * k + k * n) * size * buffers + m * n * 4),
    ),
    "accumulator of a warp": Mistake(
        "The accumulator is divided among the warps, and a warp has 32 threads: yours is 32 times what one "
        "thread holds.",
        "BLOCK_M · BLOCK_N numbers over 32 · warps threads.",
        wrong=_budget(accumulator=lambda m, n, warps: m * n / warps),
    ),
    "limited by shared memory alone": Mistake(
        "Registers do not limit your occupancy, though here they run out first. They are handed out to every "
        "thread of a block, 32 to a warp.",
        "A block takes registers · 32 · warps of the file. Take the smallest of the four limits.",
        wrong=_budget(by_registers=lambda registers, warps, gpu: UNLIMITED),
    ),
    "limited by registers alone": Mistake(
        "The occupancy looks at registers only. Every resident block has its shared memory, too, and here it "
        "runs out first.",
        "Take the smallest of the four limits.",
        wrong=_budget(by_shared=lambda shared, gpu: UNLIMITED),
    ),
    "no shared memory reserved": Mistake(
        "You divided the shared memory of the multiprocessor by what the kernel asks for. The system takes "
        "1 KiB more for each resident block.",
        "Divide by shared + 1024.",
        wrong=_budget(by_shared=lambda shared, gpu: gpu.shared_per_sm // shared),
    ),
    "occupancy in percent": Mistake(
        "Your occupancy is 100 times too large: a share of the warps, asked for as a number from 0 to 1.",
        "Leave the factor 100 out.",
        wrong=_budget(unit=100),
    ),
}
