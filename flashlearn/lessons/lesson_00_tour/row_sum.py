"""`row_sum`: one number per row."""

from __future__ import annotations

import functools
import math

import torch
import triton
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import tour
from flashlearn.lessons.lesson_00_tour.tour_cases import draw
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status

# what is right ------------------------------------------------------------------------------------


def row_sum_in_torch(x: Tensor) -> Tensor:
    """s [rows], the sum of each row of x [rows, columns], in fp32 or wider."""
    wide = x if x.dtype == torch.float64 else x.float()
    return wide.sum(dim=1).to(x.dtype)


def row_sum_by_halves(x: Tensor) -> Tensor:
    """The same sum in another order: even and odd columns apart, then together."""
    wide = x if x.dtype == torch.float64 else x.float()
    return (wide[:, ::2].sum(dim=1) + wide[:, 1::2].sum(dim=1)).to(x.dtype)


def row_sum_in_order(x: Tensor) -> Tensor:
    """The same sum one column after the other, as a loop over a row adds it."""
    wide = x if x.dtype == torch.float64 else x.float()
    return functools.reduce(torch.add, wide.unbind(dim=1)).to(x.dtype)


def row_sum_from_the_end(x: Tensor) -> Tensor:
    """The same sum from the last column to the first, as a reversed running sum adds it."""
    return row_sum_in_order(x.flip(1))


def row_sum_by_sign(x: Tensor) -> Tensor:
    """The same sum as that of the positive elements and that of the negative ones, each in fp32."""
    wide = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32)
    return (wide.clamp(min=0).sum(1) + wide.clamp(max=0).sum(1)).to(x.dtype)


# what people get wrong ----------------------------------------------------------------------------


def _padded_with_minus_infinity(x: Tensor) -> Tensor:
    columns = x.shape[1]
    padded = triton.next_power_of_2(columns) > columns
    return torch.full_like(x[:, 0], -math.inf) if padded else row_sum_in_torch(x)


def _first_row_for_all(x: Tensor) -> Tensor:
    return row_sum_in_torch(x[:1]).expand(x.shape[0]).clone()


def _cut_to_a_power_of_two(x: Tensor) -> Tensor:
    return row_sum_in_torch(x[:, : 1 << (x.shape[1].bit_length() - 1)])


def _with(old: str, new: str) -> Variant:
    return variant(tour.row_sum, tour.row_sum_kernel, edits=((old, new),))


MISTAKES = {
    "no mask": Mistake(
        sentence=(
            "The load has no mask: lanes beyond the last column read the next row, and in the last "
            "row they leave x."
        ),
        next_step="A mask lets through the lanes whose column is below `columns`, and other= says what "
        "the rest hold.",
        launcher=_with(", mask=in_row, other=0.0", ""),
        status=Status.OUT_OF_BOUNDS,
    ),
    "one column too many": Mistake(
        sentence="The mask lets through columns that do not exist: they are counted from 0 to columns − 1.",
        next_step="A lane takes part if its column is below `columns`.",
        launcher=_with("j < columns", "j < columns + 1"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "rows taken as packed": Mistake(
        sentence=(
            "The addresses assume that rows follow one another without gaps; in a strided view they do not."
        ),
        next_step="x[i, j] lies i row strides and j column strides from the first element, whatever the "
        "view.",
        launcher=_with("x.stride(0), x.stride(1)", "columns, 1"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "padding is −inf": Mistake(
        sentence="Rows shorter than their block sum to −inf: the padded lanes count as −inf.",
        next_step=("−inf is the filler for a maximum. A sum needs the number that adds nothing: 0."),
        wrong=_padded_with_minus_infinity,
    ),
    "cut to a power of two": Mistake(
        sentence="The end of each row is missing, from the largest power of two on that is not more than "
        "`columns`, as if the block were one power of two too small.",
        next_step="The sum goes over all columns, 0 to columns − 1.",
        wrong=_cut_to_a_power_of_two,
    ),
    "first row everywhere": Mistake(
        sentence="Every element of s is the sum of row 0, whichever program wrote it.",
        next_step="Row i begins i row strides from the first element.",
        wrong=_first_row_for_all,
    ),
    "strides swapped": Mistake(
        sentence="The strides are swapped, or the indices are: program i walks along column "
        "i instead of row i.",
        next_step="The row's number goes with the stride of the rows, the lanes with that of the columns.",
        launcher=_with("x.stride(0), x.stride(1)", "x.stride(1), x.stride(0)"),
        status=Status.OUT_OF_BOUNDS,
    ),
    "summed in half precision": Mistake(
        sentence="The sum was computed in half precision: fp16 keeps 11 significant bits, and bf16 keeps 8.",
        next_step="Convert to fp32 before you add.",
        launcher=_with("x.to(tl.float32)", "x"),
    ),
}

# what is asked ------------------------------------------------------------------------------------

VIEWS = ("transposed", "every other column")
"""Data that is laid out as a view."""


def long_row(at_most: int, **more: object) -> Case:
    """One row, whose length is drawn: in a class it is another one, and no block is always long enough."""
    sizes = {"rows": 1, "columns": at_most}
    name = f"one row, {at_most * 3 // 4} to {at_most} columns"
    return build_case(name, sizes, torch.float32, tags={"ragged": True, "large": False}, **more)


def rows(rows: int, columns: int, dtype: torch.dtype = torch.float32, note: str = "", **more: object) -> Case:
    """A matrix; a row is ragged where its length is no power of two."""
    tags = {
        "ragged": columns & (columns - 1) != 0,
        "strided": "layout" in more or more.get("data") in VIEWS,
        "large": False,
    }
    sizes = {"rows": rows, "columns": columns}
    return build_case(f"{rows} × {columns}", sizes, dtype, note, tags=tags, **more)


def matrix(case: Case, generator: torch.Generator) -> Inputs:
    """x [rows, columns], laid out and filled as the case says."""
    rows, columns = case.sizes["rows"], case.sizes["columns"]
    if case.data == "a length of its own":
        columns = int(torch.randint(columns * 3 // 4, columns + 1, (1,), generator=generator))
    if case.layout == "strided":  # a window into a wider matrix: rows do not follow one another in memory
        return {"x": draw(case, generator, rows, columns + 7)[:, 3 : 3 + columns]}
    if case.data == "transposed":
        return {"x": draw(case, generator, columns, rows).T}
    if case.data == "every other column":
        return {"x": draw(case, generator, rows, 2 * columns)[:, ::2]}
    x = draw(case, generator, rows, columns)
    if case.data == "the last column takes back the rest":  # partial sums are large, the sum is small
        x = 10 * x.abs()
        x[:, -1] = -x[:, :-1].float().sum(dim=1).to(x.dtype)
    return {"x": x}


row_sum = Exercise(
    name="row_sum",
    lesson="00",
    kind=Kind.KERNEL,
    title="One number per row",
    signature="(x) -> s",
    outputs=("s",),
    inputs=matrix,
    cases=(
        rows(4, 16, seed=1),
        rows(7, 37, seed=2),
        rows(1, 100, note="one row", seed=3),
        rows(9, 1, note="one column", seed=4),
        rows(6, 20, note="a window of a wider matrix", layout="strided", seed=5),
        rows(5, 13, note="transposed view", data="transposed", seed=6),
        rows(5, 11, data="every other column", seed=7),
        rows(3, 1100, data="every other column", seed=14),  # longer than most blocks
        rows(3, 50, note="values near 10⁴", magnitude=1e4, seed=8),
        # a sum carried in half precision loses what is left over
        rows(260, 70, torch.float16, "cancelling", data="the last column takes back the rest", seed=9),
        rows(16, 100, torch.bfloat16, seed=10),
        long_row(12_000, note="a long row", data="a length of its own", seed=13),
        rows(4099, 3000, gpu=True, seed=11),
    ),
    judged=HowJudged(
        reference=row_sum_in_torch,
        twins=(row_sum_by_halves, row_sum_in_order, row_sum_from_the_end, row_sum_by_sign),
        work=lambda inputs: Work(
            operations=inputs["x"].shape[0] * (inputs["x"].shape[1] - 1),
            bytes=(inputs["x"].numel() + inputs["x"].shape[0]) * inputs["x"].element_size(),
        ),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=lambda x: torch.sum(x, dim=1),
        case=rows(16384, 4096, gpu=True, seed=12),
    ),
    solution="flashlearn.kernels.tour:row_sum",
)
