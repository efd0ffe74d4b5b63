"""Lesson 00, Tour: `program_ids`, `row_sum`, `scaled_add`."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Work
from flashlearn.lessons.lesson_00_tour import mistakes, reference

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


program_ids = Exercise(
    name="program_ids",
    lesson="00",
    kind=Kind.KERNEL,
    title="Each program writes its number",
    signature="(x, block: int) -> ids",
    outputs=("ids",),
    inputs=_ids_inputs,
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
        _case("70 elements in blocks of 1", n=70, block=1, seed=8),
        _case("a million elements", gpu=True, n=1_000_003, block=1024, seed=7),
    ),
    judged=HowJudged(
        reference=reference.ids,
        work=lambda inputs: Work(operations=0, bytes=4 * inputs["x"].numel()),
    ),
    explained=HowExplained(
        mistakes=mistakes.PROGRAM_IDS,
    ),
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


row_sum = Exercise(
    name="row_sum",
    lesson="00",
    kind=Kind.KERNEL,
    title="One number per row",
    signature="(x) -> s",
    outputs=("s",),
    inputs=_matrix,
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
        _case("1 × 2100, a long row", RAGGED, rows=1, columns=2100, seed=13),
        _case("4099 × 3000", RAGGED, gpu=True, rows=4099, columns=3000, seed=11),
    ),
    judged=HowJudged(
        reference=reference.row_sum,
        twins=(
            reference.row_sum_by_halves,
            reference.row_sum_in_order,
            reference.row_sum_from_the_end,
            reference.row_sum_by_sign,
        ),
        work=lambda inputs: Work(
            operations=inputs["x"].shape[0] * (inputs["x"].shape[1] - 1),
            bytes=(inputs["x"].numel() + inputs["x"].shape[0]) * inputs["x"].element_size(),
        ),
    ),
    explained=HowExplained(
        mistakes=mistakes.ROW_SUM,
    ),
    timed=HowTimed(
        peer=lambda x: torch.sum(x, dim=1),
        case=_case("16384 × 4096", rows=16384, columns=4096, gpu=True, seed=12),
    ),
    solution="flashlearn.kernels.tour:row_sum",
)


# scaled_add ----------------------------------------------------------------------------------------


def _vectors(case: Case, generator: torch.Generator) -> Inputs:
    n = case.sizes["n"]
    a = 0.5 + round(float(torch.rand((), generator=generator)) * 2, 3)  # neither 0 nor 1
    a = -a if case.data == "negative a" else a
    if case.layout == "strided":  # steps differ, so that one stride for both is seen
        return {"a": a, "x": _draw(case, generator, 2 * n)[::2], "y": _draw(case, generator, 3 * n)[1::3]}
    return {"a": a, "x": _draw(case, generator, n), "y": _draw(case, generator, n)}


scaled_add = Exercise(
    name="scaled_add",
    lesson="00",
    kind=Kind.KERNEL,
    title="z = a·x + y with a ragged tail",
    signature="(a: float, x, y) -> z",
    outputs=("z",),
    inputs=_vectors,
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
        _case("40,500 elements", RAGGED, n=40_500, seed=12),
        _case("a million elements", RAGGED, gpu=True, n=1_000_003, seed=10),
    ),
    judged=HowJudged(
        reference=reference.scaled_add,
        twins=(lambda a, x, y: torch.add(y, x, alpha=a),),
        accumulates=False,
        launcher_arithmetic=False,
        work=lambda inputs: Work(
            operations=2 * inputs["x"].numel(), bytes=3 * inputs["x"].numel() * inputs["x"].element_size()
        ),
    ),
    explained=HowExplained(
        mistakes=mistakes.SCALED_ADD,
    ),
    timed=HowTimed(
        peer=lambda a, x, y: torch.add(y, x, alpha=a),
        case=_case("2²⁵ elements", n=2**25, gpu=True, seed=11),
    ),
    solution="flashlearn.kernels.tour:scaled_add",
)
