"""The named mistakes of lesson 05: a tiled product, its traffic, and what a block shape costs."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_05_execution_model import block_budget as right
from flashlearn.lessons.lesson_05_execution_model import faulty_kernels as broken
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, with_faults
from flashlearn.lessons.shared.faulty_formulas.sums import matmul
from flashlearn.outcome import Status

MATMUL = {
    "accumulator overwritten": Mistake(
        "Each step of the loop replaces the accumulator, so that only the last block of the inner dimension "
        "is left in C.",
        "acc += tl.dot(a, b): one tile of C is a sum over all blocks of K.",
        **with_faults(matmul, "last tile only"),
    ),
    "last block of K left out": Mistake(
        "The last block of the inner dimension is missing from C: the loop ends too early.",
        "range(0, K, BLOCK_K) reaches the last block, full or not; its padding is the masks' business.",
        **with_faults(matmul, "ragged tile left out", also=("last tile left out",)),
    ),
    "last element of K left out": Mistake(
        "Every sum lacks its last product: of the inner dimension the elements 0 to K − 2 are taken.",
        "The last index is K − 1: a mask of inner < K lets it through.",
        **with_faults(matmul, "last line left out"),
    ),
    "addresses do not advance": Mistake(
        "Every step of the loop multiplies the first blocks of A and B again: the addresses do not move with "
        "the loop.",
        "Compute the inner index inside the loop, start + arange, or advance the pointers at its end.",
        **with_faults(matmul, "A stays", "B stays"),
    ),
    "A's pointer is not advanced": Mistake(
        "Every step of the loop takes the first block of A, while B moves on.",
        "A's columns are those of the step, as B's rows are: start + arange.",
        **with_faults(matmul, "A stays"),
    ),
    "B's pointer is not advanced": Mistake(
        "Every step of the loop takes the first block of B, while A moves on.",
        "B's rows are those of the step, as A's columns are: start + arange.",
        **with_faults(matmul, "B stays"),
    ),
    "first block of K left out": Mistake(
        "The loop starts one block late: the first block of the inner dimension is missing from C.",
        "range(0, K, BLOCK_K) starts at 0.",
        **with_faults(matmul, "first tile left out"),
    ),
    "tiles not turned back": Mistake(
        "Each tile of C holds the right numbers, transposed in its place: a tile of Cᵀ was computed, and "
        "stored with the addresses of a tile of C.",
        "tl.trans(acc) turns a tile; or exchange the two index vectors in the addresses of the store.",
        **with_faults(matmul, "tiles not turned back"),
    ),
    "inner dimension not masked": Mistake(
        "The mask guards rows and columns, but not the inner dimension: the last block of the loop reaches "
        "beyond K, into the next row, and from the last row beyond the matrix.",
        "Both loads need inner < K in their mask; the padding must be 0, since it enters the sum.",
        launcher=broken.inner_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "store without mask": Mistake(
        "The loads are masked but the store is not: a tile at the edge writes beyond C.",
        "tl.store takes the mask of rows and columns.",
        launcher=broken.store_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of A used for B": Mistake(
        "B is addressed with the strides of A. Both are matrices of their own, and their rows are of "
        "different lengths.",
        "Address B with b_row and b_col.",
        launcher=broken.other_strides,
        status=Status.OUT_OF_BOUNDS,
    ),
    "views taken for contiguous": Mistake(
        "The addresses assume rows that lie side by side; in a slice or a transposed view they do not.",
        "Use the strides that the launcher passes, a_row and a_col, b_row and b_col.",
        launcher=broken.unit_strides,
        status=Status.OUT_OF_BOUNDS,
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


def traffic(M, N, K, B_M, B_N, B_K, e, faults: Faults = NONE) -> sp.Expr:
    """The bytes that a tiled product requests, with faults by name."""

    def blocks(size, block):
        return _blocks(size, block, faults)

    across, down = blocks(N, B_N), blocks(M, B_M)
    if "each once" in faults:
        across, down = 1, 1
    if "an element per program" in faults:
        across, down = N, M
    if "exchanged" in faults:
        across, down = down, across
    if "whole tiles" in faults:
        M, N, K = (block * sp.ceiling(n / block) for n, block in ((M, B_M), (N, B_N), (K, B_K)))
    stores = 0 if "no stores" in faults else M * N
    stores *= 2 if "C read" in faults else 1
    stores *= blocks(K, B_K) if "C in every step" in faults else 1
    stores *= sp.ceiling(K / B_K) if "C in every step, rounded up" in faults else 1
    return (1 if "elements" in faults else e) * (M * K * across + K * N * down + stores)


def _blocks(size: sp.Expr, block: sp.Expr, faults: Faults) -> sp.Expr:
    if "fractions" in faults:
        return size / block
    return sp.floor(size / block) if "rounded down" in faults else sp.ceiling(size / block)


TRAFFIC = {
    "each byte once": Mistake(
        "You counted each byte once, M·K + K·N + M·N elements: those are the unique bytes. Programs do not "
        "know of each other, and each loads what it needs.",
        "How many programs need row 0 of A? Each of them requests it.",
        **with_faults(traffic, "each once"),
    ),
    "rows and columns exchanged": Mistake(
        "A is counted once per block of its rows, and B once per block of its columns. It is the other way "
        "round: programs side by side in a row of C load the same rows of A.",
        "A row of A is needed for all columns of C: count the blocks of columns.",
        **with_faults(traffic, "exchanged"),
    ),
    "elements, not bytes": Mistake(
        "That is the number of elements: the bytes per element, e, are missing.",
        "Multiply by e.",
        **with_faults(traffic, "elements"),
    ),
    "C left out": Mistake(
        "What the programs store is missing.",
        "Each element of C is written once: M·N of them.",
        **with_faults(traffic, "no stores"),
    ),
    "C read as well": Mistake(
        "C is counted twice, as if it were read and written. The accumulator lives in registers; C is only "
        "written, once.",
        "Look at the kernel: how many loads of c_ptr are there?",
        **with_faults(traffic, "C read"),
    ),
    "C once per step": Mistake(
        "You counted C in every step over K. The accumulator stays in registers from step to step, and C is "
        "stored once, when the sum is complete.",
        "Where in the kernel does tl.store stand, inside the loop or after it?",
        **with_faults(traffic, "C in every step", also=("C in every step, rounded up",)),
    ),
    "one element per program": Mistake(
        "You counted as if each element of C had a program of its own: N rows of A's loads and M of B's. A "
        "tile shares what it loads among B_M · B_N elements.",
        "Count programs, not elements: N/B_N of them, rounded up, side by side.",
        **with_faults(traffic, "an element per program"),
    ),
    "sizes need not divide": Mistake(
        "N/B_N is right where blocks divide the sizes. A ragged edge has a program too, and that program "
        "loads the same rows of A as the others.",
        "Round the number of programs up: sp.ceiling(N / B_N).",
        **with_faults(traffic, "fractions"),
    ),
    "rounded down": Mistake(
        "You rounded the number of programs down. A ragged edge has a program too, and where a size is "
        "smaller than its block nothing at all would be loaded.",
        "Round up: sp.ceiling(N / B_N).",
        **with_faults(traffic, "rounded down"),
    ),
    "masked lanes counted": Mistake(
        "You counted whole tiles, also where they hang over the edge. A lane that the mask switches off "
        "requests nothing.",
        "Count what lies inside: over all programs of a row, the rows of A have exactly M·K elements.",
        **with_faults(traffic, "whole tiles"),
    ),
}


def budget(
    block_m, block_n, block_k, size, buffers, warps, registers, gpu, faults: Faults = NONE
) -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """What a tiled product's block costs, with faults by name."""
    accumulator = right.accumulator_registers(block_m, block_n, warps)
    if "per warp" in faults:
        accumulator *= right.WARP
    if "accumulator of the inputs' size" in faults:
        accumulator *= sp.Rational(size, 4)
    shared = block_m * block_k + block_k * block_n
    shared *= 1 if "elements" in faults else size
    shared *= 1 if "one buffer" in faults else buffers
    if "accumulator staged" in faults:
        shared += block_m * block_n * 4
    blocks = min(_limits(shared, warps, registers, gpu, faults))
    if "share of blocks" in faults:
        occupancy = sp.Rational(blocks, gpu.blocks_per_sm)
    else:
        occupancy = sp.Rational(blocks * warps, gpu.warps_per_sm)
    return accumulator, shared, occupancy * (100 if "percent" in faults else 1)


def _limits(shared, warps, registers, gpu, faults: Faults) -> list[sp.Expr]:
    """How many blocks each resource of a multiprocessor has room for."""
    registers = registers if "registers as given" in faults else -(-registers // 8) * 8
    reserved = 0 if "nothing reserved" in faults else right.RESERVED
    limits = {
        "no limit of warps": (gpu.warps_per_sm, warps),
        "no limit of registers": (gpu.registers_per_sm, registers * right.WARP * warps),
        "no limit of shared memory": (gpu.shared_per_sm, shared + reserved),
    }
    fitting = [sp.Rational(a, b) for fault, (a, b) in limits.items() if fault not in faults]
    if "blocks rounded up" in faults:
        fitting = [sp.ceiling(blocks) for blocks in fitting]
    elif "fractions of a block" not in faults:
        fitting = [sp.floor(blocks) for blocks in fitting]
    return fitting if "no limit of blocks" in faults else [*fitting, gpu.blocks_per_sm]


BUDGET = {
    "buffers forgotten": Mistake(
        "The shared memory is one tile of A and one of B; the loop keeps `buffers` pairs in flight.",
        "Multiply by buffers.",
        **with_faults(budget, "one buffer"),
    ),
    "elements, not bytes": Mistake(
        "The shared memory is counted in elements; it is asked for in bytes.",
        "Multiply by size, the bytes per element.",
        **with_faults(budget, "elements"),
    ),
    "accumulator in shared memory": Mistake(
        "The shared memory includes the accumulator's tile. It lives in registers, BLOCK_M · BLOCK_N fp32 "
        "numbers spread over the program's threads.",
        "Only what is loaded is staged: a tile of A and a tile of B per buffer.",
        **with_faults(budget, "accumulator staged"),
    ),
    "accumulator of a warp": Mistake(
        "The accumulator is divided among the warps, and a warp has 32 threads: yours is 32 times what one "
        "thread holds.",
        "BLOCK_M · BLOCK_N numbers over 32 · warps threads.",
        **with_faults(budget, "per warp"),
    ),
    "accumulator of the inputs' size": Mistake(
        "Your accumulator's numbers are as large as the inputs'. They are fp32 whatever these are: four "
        "bytes, one register, for each.",
        "BLOCK_M · BLOCK_N over 32 · warps threads, and nothing about size.",
        **with_faults(budget, "accumulator of the inputs' size"),
    ),
    "limited by shared memory alone": Mistake(
        "Registers do not limit your occupancy, though here they run out first. They are handed out to every "
        "thread of a block, 32 to a warp.",
        "A block takes registers · 32 · warps of the file. Take the smallest of the four limits.",
        **with_faults(budget, "no limit of registers"),
    ),
    "limited by registers alone": Mistake(
        "The occupancy looks at registers only. Every resident block has its shared memory, too, and here it "
        "runs out first.",
        "Take the smallest of the four limits.",
        **with_faults(budget, "no limit of shared memory"),
    ),
    "no shared memory reserved": Mistake(
        "You divided the shared memory of the multiprocessor by what the kernel asks for. The system takes "
        "1 KiB more for each resident block.",
        "Divide by shared + 1024.",
        **with_faults(budget, "nothing reserved"),
    ),
    "occupancy in percent": Mistake(
        "Your occupancy is 100 times too large: a share of the warps, asked for as a number from 0 to 1.",
        "Leave the factor 100 out.",
        **with_faults(budget, "percent"),
    ),
    "occupancy of blocks": Mistake(
        "Your occupancy is a share of the blocks that a multiprocessor can hold. It is asked for as a share "
        "of the warps.",
        "How many warps have the resident blocks together, and how many can be resident?",
        **with_faults(budget, "share of blocks"),
    ),
    "registers not rounded": Mistake(
        "The registers per thread are not rounded up to a multiple of 8. They are handed out in eights: 97 "
        "take as much of the file as 104.",
        "Round up first, then multiply by the threads of a block.",
        **with_faults(budget, "registers as given"),
    ),
    "fractions of a block": Mistake(
        "You counted fractions of blocks. A block is resident as a whole or not at all: where there is room "
        "for 2.56, there are 2.",
        "Round each limit down: //.",
        **with_faults(budget, "fractions of a block"),
    ),
    "blocks rounded up": Mistake(
        "You rounded the number of resident blocks up. A block without room of its own waits until another "
        "has ended.",
        "Round each limit down: //.",
        **with_faults(budget, "blocks rounded up"),
    ),
    "limit of warps forgotten": Mistake(
        "A multiprocessor holds so many warps and no more, and your occupancy does not know it.",
        "There are four limits: shared memory, registers, warps and blocks. Take the smallest.",
        **with_faults(budget, "no limit of warps"),
    ),
    "limit of blocks forgotten": Mistake(
        "A multiprocessor holds so many blocks and no more, however small they are, and your occupancy does "
        "not know it.",
        "There are four limits: shared memory, registers, warps and blocks. Take the smallest.",
        **with_faults(budget, "no limit of blocks"),
    ),
}
