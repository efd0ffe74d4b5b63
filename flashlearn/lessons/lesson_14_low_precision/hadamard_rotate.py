"""`hadamard_rotate`: random signs, then a Hadamard matrix."""

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
from flashlearn.report.units import plural

formula = faulty_formula(eight_bits.rotated)
LEFT_OUT = tuple(f"bits {bits}" for bits in (0b1111, 0b11, 0b111, 0b11111, 0b111111, 0b110011, 0b1010101))
"""The bits whose parity is left where a step of folding is missing: that by 4, by 2 or by 1, or several."""

unmasked = variant(
    low_precision.hadamard_rotate,
    low_precision.hadamard_rotate_kernel,
    edits=(("* x_col, mask=in_rows, other=0.0)", "* x_col)"),),
)


MISTAKES = {
    "not divided by √D": Mistake(
        "H without its factor makes every row √D times as long: H Hᵀ is D times the identity.",
        "An orthogonal matrix has rows of length 1.",
        **formula("no root"),
    ),
    "divided by D": Mistake(
        "The result is divided by D: then rows get shorter, by √D.",
        "H Hᵀ = D · I. What must each of the two factors be divided by?",
        **formula("divided by D"),
    ),
    "signs forgotten": Mistake(
        "The rows were not multiplied by the signs.",
        "y = (x ∘ signs) H.",
        **formula("no signs"),
    ),
    "signs after the product": Mistake(
        "The signs came after H. That is orthogonal too, but another rotation: the absolute values of y are "
        "those of x H.",
        "y = (x ∘ signs) H: x meets the signs first.",
        **formula("signs after"),
    ),
    "shared, but not odd": Mistake(
        "An entry is −1 wherever i and j share a bit. It is −1 where they share an odd number of bits.",
        "i = j = 3 share two bits, and their entry is 1.",
        **formula("shared, not odd"),
    ),
    "only the last bit": Mistake(
        "Only the lowest bit of i and j is looked at: all odd rows of the matrix are the same.",
        "The parity is that of all bits of i & j.",
        **formula("last bit"),
    ),
    "some bits are left out": Mistake(
        "The parity is that of some of the shared bits only: in the larger matrices, i and j have bits that "
        "are not counted.",
        "i and j have up to log2 D bits, and all of them count.",
        **formula(LEFT_OUT[0], also=LEFT_OUT[1:]),
    ),
    "bits that differ": Mistake(
        "The parity is that of i ^ j, the bits in which they differ. That matrix has only two different "
        "rows.",
        "The bits that i and j share are i & j.",
        **formula("xor"),
    ),
    "the rows are loaded without a mask": Mistake(
        "The last program's rows reach beyond the matrix.",
        "Rows end at M, and a mask says so.",
        launcher=unmasked,
        status=Status.OUT_OF_BOUNDS,
    ),
}


def rows(M: int, D: int, dtype: torch.dtype = torch.float32, **more: Any) -> Case:
    """M rows of D numbers; layout "columns first" is the transpose of a matrix."""
    note = "columns first in memory" if "layout" in more else ""
    tags = {"ragged": M % 16 != 0, "strided": False}
    return build_case(f"{plural(M, 'row')} of {D}", {"M": M, "D": D}, dtype, note, tags=tags, **more)


def rows_and_signs(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, D] and D random signs."""
    M, D = case.sizes["M"], case.sizes["D"]
    x = torch.randn(M, D, generator=generator)
    if case.data == "one column × 50":
        x[:, 3] *= 50
    x = x.to(case.dtype)
    x = x if case.layout == "contiguous" else x.t().contiguous().t()
    return {"x": x, "signs": torch.randint(0, 2, (D,), generator=generator) * 2.0 - 1.0}


def by_butterflies(x: Tensor, signs: Tensor) -> Tensor:
    """The same in log₂ D steps of sums and differences of pairs."""
    y = (x if x.dtype == torch.float64 else x.float()) * signs
    M, D = x.shape
    step = 1
    while step < D:
        pairs = y.reshape(M, D // (2 * step), 2, step)
        y = torch.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(M, D)
        step *= 2
    return (y * D**-0.5).to(x.dtype)


def butterflies(inputs: Inputs) -> Work:
    """The least: log₂ D additions for each number, which is read once and written once."""
    x = inputs["x"]
    return Work(x.numel() * (x.shape[1].bit_length() - 1.0), 2.0 * x.numel() * x.element_size())


hadamard_rotate = Exercise(
    name="hadamard_rotate",
    lesson="14",
    kind=Kind.KERNEL,
    title="Random signs, then a Hadamard matrix",
    signature="(x, signs) -> y",
    outputs=("y",),
    inputs=rows_and_signs,
    cases=(
        rows(32, 16, seed=1),
        rows(37, 64, seed=2),
        rows(5, 128, data="one column × 50", seed=3),
        rows(1, 32, seed=4),
        rows(40, 32, layout="columns first", seed=5),
        rows(50, 64, FP16, seed=6),
        rows(33, 32, BF16, data="one column × 50", seed=7),
        rows(100_000, 128, BF16, seed=8, gpu=True),
    ),
    judged=HowJudged(
        reference=eight_bits.rotated,
        twins=(by_butterflies,),
        work=butterflies,
        real_sizes={"M": 512, "rows apart": 2**23},
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=eight_bits.rotated, peer_name="torch", case=rows(262_144, 128, BF16, seed=9, gpu=True)
    ),
    points=2,
    solution="flashlearn.kernels.low_precision:hadamard_rotate",
)
