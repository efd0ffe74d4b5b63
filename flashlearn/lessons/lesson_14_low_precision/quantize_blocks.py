"""`quantize_blocks`: e4m3 with one scale for each block."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import low_precision
from flashlearn.lessons.lesson_14_low_precision import eight_bits
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.variants import variant
from flashlearn.outcome import Status

formula = faulty_formula(eight_bits.quantized)

unmasked = variant(
    low_precision.quantize_blocks,
    low_precision.quantize_blocks_kernel,
    edits=(("tl.load(x_at, mask=inside, other=0.0)", "tl.load(x_at)"),),
)


MISTAKES = {
    "largest without its sign forgotten": Mistake(
        "The scale comes from the largest value, not from the largest magnitude: in a block whose negative "
        "numbers reach further, they are cut off at −448.",
        "Which of −7 and 3 has the larger magnitude?",
        **formula("signed maximum"),
    ),
    "multiplied by the scale": Mistake(
        "The values are x times the scale. Large blocks leave e4m3's range, small ones vanish in it.",
        "x ≈ value · scale: solve it for the value.",
        **formula("multiplied"),
    ),
    "x is not scaled": Mistake(
        "The values are x itself in e4m3: what is beyond 448 is cut off, and what is far below 1 loses its "
        "bits. The scales are not used.",
        "x ≈ value · scale.",
        **formula("not scaled"),
    ),
    "the inverse scale is returned": Mistake(
        "The scales are stored as their reciprocals.",
        "x ≈ value · scale: the reader of the result multiplies by the scale.",
        **formula("inverse"),
    ),
    "scales laid out by columns": Mistake(
        "The scales lie column by column: that of block (i, j) is number i + j · (rows of blocks).",
        "scales is contiguous, rows first: how far apart are the scales of the blocks (i, j) and (i + 1, j)?",
        **formula("by columns"),
    ),
    "scaled to 1": Mistake(
        "The scale is the largest magnitude itself, so values lie between −1 and 1. e4m3 reaches 448: of its "
        "exponents above 0 none is used.",
        "To which value should the block's largest number go?",
        **formula("no 448"),
    ),
    "scaled to 240": Mistake(
        "The largest magnitude goes to 240, the end of another e4m3 (fnuz). This format ends at 448.",
        "Take the largest exponent and the largest fraction that is not NaN: 2⁸ · 1.75.",
        **formula("240"),
    ),
    "only large blocks are scaled": Mistake(
        "Blocks whose numbers all fit into e4m3 keep the scale 1. Small numbers lose bits there: the scale "
        "takes the largest magnitude of every block to 448.",
        "With a scale of 1, what is left in e4m3 of a block whose numbers are all below 0.01?",
        **formula("at least 1"),
    ),
    "one scale for all blocks": Mistake(
        "Every block has the scale of the whole tensor.",
        "The scale of a block follows from the block's own largest magnitude.",
        **formula("one scale"),
    ),
    "a block of zeros divides by zero": Mistake(
        "In a block of zeros the largest magnitude is 0: dividing by it, or by a scale of 0, makes the block "
        "NaN.",
        "Which scale would work for a block of nothing but zeros?",
        **formula("zero blocks"),
    ),
    "another scale for a block of zeros": Mistake(
        "The scale of a block of zeros is not 1: what guards it against 0 leads to another number.",
        "A guard against 0 has to put in a number that makes the scale 1.",
        **formula(
            "at least 10^−0", also=tuple(name for name in eight_bits.LEAST if name != "at least 10^−0")
        ),
    ),
    "the tile is loaded without a mask": Mistake(
        "A tile that reaches beyond the matrix is loaded whole.",
        "Rows end at M, and columns at N: one mask says both.",
        launcher=unmasked,
        status=Status.OUT_OF_BOUNDS,
    ),
}


def matrix(
    M: int, N: int, block_m: int, block_n: int, dtype: torch.dtype = torch.float32, **more: Any
) -> Case:
    """An [M, N] matrix in blocks of block_m × block_n; layout "columns first" is the transpose of one."""
    label = f"{M} × {N} in blocks of {block_m} × {block_n}"
    sizes = {"M": M, "N": N, "block_m": block_m, "block_n": block_n}
    note = "columns first in memory" if "layout" in more else ""
    tags = {"ragged": bool(M % block_m or N % block_n), "strided": False}
    return build_case(label, sizes, dtype, note, tags=tags, **more)


def blocks(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, N] whose blocks differ in size by powers of two, and the block's sides."""
    M, N, block_m, block_n = (case.sizes[name] for name in ("M", "N", "block_m", "block_n"))
    x = torch.randn(M, N, generator=generator)
    by_block = 2.0 ** torch.randint(-6, 6, (-(-M // block_m), -(-N // block_n)), generator=generator)
    x = x * eight_bits.spread(by_block, block_m, block_n, M, N)
    if case.data == "a block of zeros":
        x[:block_m, :block_n] = 0.0
    if case.data == "one outlier":
        x[M // 2, N // 2] = -3000.0
    if case.data == "small numbers":
        x = x / 2**8  # their scales are below the normal numbers of fp16
    x = x.to(case.dtype)
    x = x if case.layout == "contiguous" else x.t().contiguous().t()
    return {"x": x, "block_m": block_m, "block_n": block_n}


def by_reciprocal(x: Tensor, block_m: int, block_n: int) -> tuple[Tensor, Tensor]:
    """The same, multiplying by 448 over the largest magnitude."""
    _, scales = eight_bits.quantized(x, block_m, block_n)
    each = eight_bits.spread(1 / scales, block_m, block_n, *x.shape)
    return eight_bits.to_e4m3(x.float() * each), scales


def elements(inputs: Inputs) -> Work:
    """Two operations for each number, which is read once and written in one byte."""
    x = inputs["x"]
    return Work(2.0 * x.numel(), x.numel() * (x.element_size() + 1.0))


quantize_blocks = Exercise(
    name="quantize_blocks",
    lesson="14",
    kind=Kind.KERNEL,
    title="e4m3 with one scale for each block",
    signature="(x, block_m, block_n) -> (values, scales)",
    outputs=("values", "scales"),
    inputs=blocks,
    cases=(
        matrix(32, 32, 32, 32, seed=1),
        matrix(37, 70, 32, 16, seed=2),
        matrix(64, 64, 16, 64, data="a block of zeros", seed=3),
        matrix(50, 40, 16, 32, data="one outlier", seed=4),
        matrix(40, 33, 16, 16, layout="columns first", seed=5),
        matrix(1, 100, 16, 64, seed=6),
        matrix(70, 48, 64, 16, FP16, seed=7),
        matrix(33, 65, 32, 32, BF16, data="a block of zeros", seed=8),
        matrix(40, 24, 16, 16, FP16, data="small numbers", seed=11),
        matrix(4096, 4096, 128, 128, BF16, seed=9, gpu=True),
    ),
    judged=HowJudged(
        needs=89,  # the first GPUs with e4m3
        reference=eight_bits.quantized,
        twins=(by_reciprocal,),
        output_dtypes={"values": torch.float8_e4m3fn, "scales": torch.float32},
        accumulates=False,
        work=elements,
        real_sizes={"M": 512, "N": 512, "rows apart": 2**23, "columns apart": 2**23},
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=eight_bits.quantized,
        peer_name="torch",
        case=matrix(8192, 8192, 128, 128, BF16, seed=10, gpu=True),
    ),
    points=2,
    solution="flashlearn.kernels.low_precision:quantize_blocks",
)
