"""Lesson 00, Tour: `program_ids`, `row_sum`, `scaled_add`."""

from __future__ import annotations

import functools
import math

import torch
import triton
from torch import Tensor

from flashlearn.exercise import Case, Exercise, Inputs, Kind, Mistake, Work
from flashlearn.exercises import mistakes_00 as broken

HALF = frozenset({"half"})
RAGGED = frozenset({"ragged"})
STRIDED = frozenset({"strided"})
CASE_FIELDS = ("dtype", "magnitude", "layout", "data", "seed", "gpu")


def _case(title: str, tags: frozenset[str] = frozenset(), **options) -> Case:
    """A case with the fields that vary in this lesson; what is not a field of `Case` is a size."""
    fields = {name: options.pop(name) for name in CASE_FIELDS if name in options}
    return Case(title, sizes=options, tags=tags, **fields)


def _draw(case: Case, generator: torch.Generator, *shape: int) -> Tensor:
    return (torch.randn(*shape, generator=generator) * case.magnitude).to(case.dtype)


# program_ids ---------------------------------------------------------------------------------------


def _ids_inputs(case: Case, generator: torch.Generator) -> Inputs:
    n = case.sizes["n"]
    x = _draw(case, generator, 2 * n)[::2] if case.layout == "strided" else _draw(case, generator, n)
    return {"x": x, "block": case.sizes["block"]}


def _ids(x: Tensor, block: int) -> Tensor:
    return (torch.arange(x.numel(), device=x.device) // block).to(torch.int32)


def _elements(x: Tensor, block: int) -> Tensor:
    return torch.arange(x.numel(), device=x.device, dtype=torch.int32)


program_ids = Exercise(
    name="program_ids",
    lesson="00",
    kind=Kind.KERNEL,
    title="Each program writes its number",
    signature="(x, block: int) -> ids",
    outputs=("ids",),
    inputs=_ids_inputs,
    reference=_ids,
    cases=(
        _case("10 elements in blocks of 4", RAGGED, n=10, block=4, seed=1),
        _case("16 elements, one full block", n=16, block=16, seed=2),
        _case("5 elements, less than a block of 16", RAGGED, n=5, block=16, seed=3),
        _case("1 element in a block of 1", n=1, block=1, seed=4),
        _case(
            "200 elements in blocks of 64, x in fp16",
            RAGGED | HALF,
            n=200,
            block=64,
            dtype=torch.float16,
            seed=5,
        ),
        _case("x is every second element", RAGGED | STRIDED, n=37, block=8, layout="strided", seed=6),
        _case("a million elements", gpu=True, n=1_000_003, block=1024, seed=7),
    ),
    hints=(
        "A program knows one thing that tells it apart: its number. Program $p$ owns `BLOCK` consecutive "
        "elements, the first of which is `p * BLOCK`. The last program may own fewer than `BLOCK`, so "
        "the store needs a mask.",
        "`tl.arange(0, BLOCK)` has shape `[BLOCK]`. Adding `pid * BLOCK` keeps the shape and gives "
        "element numbers; comparing those with `n` gives the mask, `[BLOCK]` too. The value to store is "
        "a single number, and Triton broadcasts it over the lanes.",
        "`offsets = pid * BLOCK + tl.arange(0, BLOCK)`, and then `tl.store(ids_ptr + offsets, pid, "
        "mask=offsets < n)`. One line is left for you: where `pid` comes from.",
    ),
    mistakes={
        "no mask": Mistake(
            sentence="The last program writes past the end of ids: its block is longer than what is left.",
            next_step="Give tl.store a mask that is true for the lanes whose element exists: offsets < n.",
            launcher=broken.ids_without_mask,
            status="OUT_OF_BOUNDS",
        ),
        "same block for all": Mistake(
            sentence=(
                "All programs write the same slots, those of block 0: the offsets do not depend on the "
                "program."
            ),
            next_step="Program p begins at p * BLOCK: add that to tl.arange(0, BLOCK).",
            launcher=broken.ids_without_offset,
            status="RACE",
        ),
        "tail without a program": Mistake(
            sentence="The ragged tail was never written: the grid has n // block programs, rounded down.",
            next_step="Round up: triton.cdiv(n, block) programs, the last of which works under its mask.",
            launcher=broken.ids_without_tail,
        ),
        "element numbers": Mistake(
            sentence=(
                "Each slot holds its own number i; it should hold the number of the program that owns "
                "it, i // block."
            ),
            next_step="Use the offsets for the addresses, and pid as the value.",
            wrong=_elements,
        ),
        "lane numbers": Mistake(
            sentence=(
                "Each slot holds its place within the block, i % block; it should hold the program's "
                "number, i // block."
            ),
            next_step="tl.arange is the same in every program. The value to store is tl.program_id(0).",
            wrong=lambda x, block: _elements(x, block) % block,
        ),
        "counted from one": Mistake(
            sentence="Every number is one too large: programs are counted from 0.",
            next_step="Store tl.program_id(0) as it is.",
            wrong=lambda x, block: _ids(x, block) + 1,
        ),
        "number of programs": Mistake(
            sentence="Every slot holds how many programs there are, not which one wrote it.",
            next_step="tl.num_programs(0) is the size of the grid; tl.program_id(0) is the number within it.",
            wrong=lambda x, block: torch.full_like(_ids(x, block), triton.cdiv(x.numel(), block)),
        ),
    },
    work=lambda inputs: Work(operations=0, bytes=4 * inputs["x"].numel()),
    solution="flashlearn.kernels.tour:program_ids",
)


# row_sum -------------------------------------------------------------------------------------------


def _matrix(case: Case, generator: torch.Generator) -> Inputs:
    rows, columns = case.sizes["rows"], case.sizes["columns"]
    if case.layout == "strided":  # a window into a wider matrix: rows do not follow one another in memory
        return {"x": _draw(case, generator, rows, columns + 7)[:, 3 : 3 + columns]}
    if case.data == "transposed":
        return {"x": _draw(case, generator, columns, rows).T}
    if case.data == "every other column":
        return {"x": _draw(case, generator, rows, 2 * columns)[:, ::2]}
    x = _draw(case, generator, rows, columns)
    if case.data == "the last column takes back the rest":  # partial sums are large, the sum is small
        x = 10 * x.abs()
        x[:, -1] = -x[:, :-1].float().sum(dim=1).to(x.dtype)
    return {"x": x}


def _row_sum(x: Tensor) -> Tensor:
    wide = x if x.dtype == torch.float64 else x.float()
    return wide.sum(dim=1).to(x.dtype)


def _row_sum_by_halves(x: Tensor) -> Tensor:
    """The same sum in another order: even and odd columns apart, then together."""
    wide = x if x.dtype == torch.float64 else x.float()
    return (wide[:, ::2].sum(dim=1) + wide[:, 1::2].sum(dim=1)).to(x.dtype)


def _row_sum_in_order(x: Tensor) -> Tensor:
    """The same sum one column after the other, as a loop over a row adds it."""
    wide = x if x.dtype == torch.float64 else x.float()
    return functools.reduce(torch.add, wide.unbind(dim=1)).to(x.dtype)


def _row_sum_from_the_end(x: Tensor) -> Tensor:
    """The same sum from the last column to the first, as a reversed running sum adds it."""
    return _row_sum_in_order(x.flip(1))


def _padded_with_minus_infinity(x: Tensor) -> Tensor:
    columns = x.shape[1]
    padded = triton.next_power_of_2(columns) > columns
    return torch.full_like(x[:, 0], -math.inf) if padded else _row_sum(x)


def _first_row_for_all(x: Tensor) -> Tensor:
    return _row_sum(x[:1]).expand(x.shape[0]).clone()


row_sum = Exercise(
    name="row_sum",
    lesson="00",
    kind=Kind.KERNEL,
    title="One number per row",
    signature="(x) -> s",
    outputs=("s",),
    inputs=_matrix,
    reference=_row_sum,
    twins=(_row_sum_by_halves, _row_sum_in_order, _row_sum_from_the_end),
    cases=(
        _case("4 × 16", rows=4, columns=16, seed=1),
        _case("7 × 37", RAGGED, rows=7, columns=37, seed=2),
        _case("1 × 100, one row", RAGGED, rows=1, columns=100, seed=3),
        _case("9 × 1, one column", rows=9, columns=1, seed=4),
        _case(
            "6 × 20, a window of a wider matrix",
            RAGGED | STRIDED,
            rows=6,
            columns=20,
            layout="strided",
            seed=5,
        ),
        _case("5 × 13, transposed view", RAGGED | STRIDED, rows=5, columns=13, data="transposed", seed=6),
        _case(
            "5 × 11, every other column",
            RAGGED | STRIDED,
            rows=5,
            columns=11,
            data="every other column",
            seed=7,
        ),
        _case("3 × 50, values near 10⁴", RAGGED, rows=3, columns=50, magnitude=1e4, seed=8),
        _case(
            "260 × 70, fp16, cancelling",  # a sum carried in half precision loses what is left over
            RAGGED | HALF,
            rows=260,
            columns=70,
            dtype=torch.float16,
            data="the last column takes back the rest",
            seed=9,
        ),
        _case("16 × 100, bf16", RAGGED | HALF, rows=16, columns=100, dtype=torch.bfloat16, seed=10),
        _case("4099 × 3000", RAGGED, gpu=True, rows=4099, columns=3000, seed=11),
    ),
    hints=(
        "One program per row: the program's number is the row's number. It loads the whole row as one "
        "block. Since a block's length is a power of two, some lanes have no column. What must they hold "
        "so that they do not change a sum?",
        "`j = tl.arange(0, BLOCK)` are the columns, shape `[BLOCK]`, and $x_{ij}$ lies at `x_ptr + i * "
        "stride_row + j * stride_column`. `tl.sum(…, axis=0)` turns `[BLOCK]` into one number, which "
        "goes to `s_ptr + i`. Convert to fp32 before the sum.",
        "`x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=0.0)`, then "
        "the sum of `x.to(tl.float32)`, then one `tl.store` without a mask: a program writes exactly one "
        "element.",
    ),
    mistakes={
        "no mask": Mistake(
            sentence=(
                "The load has no mask: lanes beyond the last column read the next row, and in the last "
                "row they leave x."
            ),
            next_step="Load under mask=j < columns, and say with other= what the remaining lanes hold.",
            launcher=broken.sum_without_mask,
            status="OUT_OF_BOUNDS",
        ),
        "one column too many": Mistake(
            sentence="The mask lets one column too many through: columns are counted from 0 to columns − 1.",
            next_step="Compare with <, not with <=.",
            launcher=broken.sum_one_column_too_many,
            status="OUT_OF_BOUNDS",
        ),
        "rows taken as packed": Mistake(
            sentence=(
                "The addresses assume that rows follow one another without gaps; in a strided view they "
                "do not."
            ),
            next_step="x[i, j] lies at x_ptr + i * stride_row + j * stride_column, whatever the view.",
            launcher=broken.sum_of_packed_rows,
            status="OUT_OF_BOUNDS",
        ),
        "padding is −inf": Mistake(
            sentence="Rows shorter than their block sum to −inf: the padded lanes were loaded as −inf.",
            next_step=(
                "−inf is the filler for a maximum. A sum needs the number that adds nothing: other=0.0."
            ),
            wrong=_padded_with_minus_infinity,
        ),
        "first row everywhere": Mistake(
            sentence="Every element of s is the sum of row 0: the loads do not depend on the program.",
            next_step="Add i * stride_row to the pointer, with i = tl.program_id(0).",
            wrong=_first_row_for_all,
        ),
        "strides swapped": Mistake(
            sentence="The strides have changed places: program i walks along column i instead of row i.",
            next_step="The row's number goes with stride_row, the lanes with stride_column.",
            launcher=broken.sum_of_swapped_strides,
            status="OUT_OF_BOUNDS",
        ),
        "summed in half precision": Mistake(
            sentence="The sum was accumulated in half precision: each addition is rounded to 11 bits.",
            next_step="Convert before you add: tl.sum(x.to(tl.float32), axis=0). The store converts back.",
            launcher=broken.sum_in_half_precision,
        ),
    },
    work=lambda inputs: Work(
        operations=inputs["x"].shape[0] * (inputs["x"].shape[1] - 1),
        bytes=(inputs["x"].numel() + inputs["x"].shape[0]) * inputs["x"].element_size(),
    ),
    solution="flashlearn.kernels.tour:row_sum",
    peer=lambda x: torch.sum(x, dim=1),
    timing_case=_case("16384 × 4096", rows=16384, columns=4096, gpu=True, seed=12),
)


# scaled_add ----------------------------------------------------------------------------------------


def _vectors(case: Case, generator: torch.Generator) -> Inputs:
    n = case.sizes["n"]
    a = 0.5 + round(float(torch.rand((), generator=generator)) * 2, 3)  # neither 0 nor 1
    a = -a if case.data == "negative a" else a
    if case.layout == "strided":  # steps differ, so that one stride for both is seen
        return {"a": a, "x": _draw(case, generator, 2 * n)[::2], "y": _draw(case, generator, 3 * n)[1::3]}
    return {"a": a, "x": _draw(case, generator, n), "y": _draw(case, generator, n)}


def _scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    wide = x.dtype if x.dtype == torch.float64 else torch.float32
    return (a * x.to(wide) + y.to(wide)).to(x.dtype)


scaled_add = Exercise(
    name="scaled_add",
    lesson="00",
    kind=Kind.KERNEL,
    title="z = a·x + y with a ragged tail",
    signature="(a: float, x, y) -> z",
    outputs=("z",),
    inputs=_vectors,
    reference=_scaled_add,
    twins=(lambda a, x, y: torch.add(y, x, alpha=a),),
    accumulates=False,
    launcher_arithmetic=False,
    cases=(
        _case("1000 elements", RAGGED, n=1000, seed=1),
        _case("5 elements, less than a block", RAGGED, n=5, seed=2),
        _case("1 element", RAGGED, n=1, seed=3),
        _case("2048 elements, whole blocks", n=2048, seed=4),
        _case("2500 elements, a negative", RAGGED, n=2500, data="negative a", seed=5),
        _case("every 2nd of x, every 3rd of y", RAGGED | STRIDED, n=700, layout="strided", seed=6),
        _case("values near 10⁴", RAGGED, n=333, magnitude=1e4, seed=7),
        _case("3000 elements, fp16", RAGGED | HALF, n=3000, dtype=torch.float16, seed=8),
        _case("3000 elements, bf16", RAGGED | HALF, n=3000, dtype=torch.bfloat16, seed=9),
        _case("a million elements", RAGGED, gpu=True, n=1_000_003, seed=10),
    ),
    hints=(
        "Cut the vectors into blocks of `BLOCK` elements, one program each, and round the number of "
        "programs up. Every program does four things with its block: find the addresses, load x and y, "
        "compute, store.",
        "Offsets and mask have shape `[BLOCK]`, as in `program_ids`. `x[i]` lies at `x_ptr + i * "
        "stride_x`, `y[i]` at `y_ptr + i * stride_y`. Both loads and the store take the mask. The "
        "launcher needs `torch.empty(n, dtype=…, device=…)`, the grid `(triton.cdiv(n, BLOCK),)`, and "
        "the strides, `x.stride(0)` and `y.stride(0)`.",
        "`x = tl.load(x_ptr + offsets * stride_x, mask=offsets < n).to(tl.float32)`, y likewise, then "
        "`tl.store(z_ptr + offsets, a * x + y, mask=offsets < n)`. The launch is "
        "`scaled_add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)`.",
    ),
    mistakes={
        "no mask": Mistake(
            sentence="The loads have no mask: the last program's block reaches beyond the vectors.",
            next_step="Build the mask once, offsets < n, and give it to both loads and to the store.",
            launcher=broken.add_without_mask,
            status="OUT_OF_BOUNDS",
        ),
        "store without mask": Mistake(
            sentence="The loads are masked but the store is not: it writes beyond the end of z.",
            next_step="tl.store takes the same mask as the loads.",
            launcher=broken.add_without_store_mask,
            status="OUT_OF_BOUNDS",
        ),
        "strides ignored": Mistake(
            sentence=(
                "The addresses assume that neighbours lie side by side; in x[::2] they are two elements "
                "apart."
            ),
            next_step=(
                "Multiply the offsets by stride_x and stride_y (or call .contiguous() first and pay for "
                "the copy)."
            ),
            launcher=broken.add_with_unit_strides,
            status="OUT_OF_BOUNDS",
        ),
        "same block for all": Mistake(
            sentence=(
                "All programs compute block 0, and the rest of z is never written: the offsets lack the "
                "program."
            ),
            next_step="offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK).",
            launcher=broken.add_without_offset,
        ),
        "tail without a program": Mistake(
            sentence=(
                "The ragged tail of z was never written: the grid has n // BLOCK programs, rounded down."
            ),
            next_step="Round up: grid = (triton.cdiv(n, BLOCK),).",
            launcher=broken.add_without_tail,
        ),
        "a scales the sum": Mistake(
            sentence="z is a·(x + y): a scales y too.",
            next_step="Only x is scaled: a * x + y.",
            wrong=lambda a, x, y: a * (x + y),
        ),
        "a scales y": Mistake(
            sentence="z is x + a·y: a scales the wrong vector.",
            next_step="Only x is scaled: a * x + y. Look at the order of the arguments in the launch, too.",
            wrong=lambda a, x, y: x + a * y,
        ),
        "a is missing": Mistake(
            sentence="z is x + y: the factor a is missing.",
            next_step="Use the kernel's first argument: a * x + y.",
            wrong=lambda a, x, y: x + y,
        ),
    },
    work=lambda inputs: Work(
        operations=2 * inputs["x"].numel(), bytes=3 * inputs["x"].numel() * inputs["x"].element_size()
    ),
    solution="flashlearn.kernels.tour:scaled_add",
    peer=lambda a, x, y: torch.add(y, x, alpha=a),
    timing_case=_case("2²⁵ elements", n=2**25, gpu=True, seed=11),
)
