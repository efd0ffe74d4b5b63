"""`scaled_add`: z = a·x + y with a ragged tail."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake, Work
from flashlearn.kernels import tour
from flashlearn.lessons.lesson_00_tour.tour_cases import draw, elements
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.variants import Variant, variant
from flashlearn.outcome import Status


def scaled_add_in_torch(a: float, x: Tensor, y: Tensor) -> Tensor:
    """z = a·x + y [n], computed in fp32 or wider."""
    wide = x.dtype if x.dtype == torch.float64 else torch.float32
    return (a * x.to(wide) + y.to(wide)).to(x.dtype)


def _with(*edits: tuple[str, str]) -> Variant:
    """The kernel in blocks of 256, the size that learners choose, with edits."""
    return variant(tour.scaled_add, tour.scaled_add_kernel, edits=(("BLOCK = 1024", "BLOCK = 256"), *edits))


MISTAKES = {
    "no mask": Mistake(
        sentence="A load lets all lanes through: the last program's block reaches beyond the vectors.",
        next_step="One mask, true for the lanes whose element exists, serves both loads and the store.",
        launcher=_with(
            ("stride_x, mask=in_vector)", "stride_x)"),
            ("stride_y, mask=in_vector)", "stride_y)"),
        ),
        status=Status.OUT_OF_BOUNDS,
    ),
    "store without mask": Mistake(
        sentence="The store has no mask: it writes beyond the end of z.",
        next_step="tl.store takes the same mask as the loads.",
        launcher=_with(("a * x + y, mask=in_vector)", "a * x + y)")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides ignored": Mistake(
        sentence=(
            "The addresses assume that neighbours lie side by side; in x[::2] they are two elements apart."
        ),
        next_step=(
            "Multiply each vector's offsets by its own stride (or call .contiguous() first and pay for "
            "the copy)."
        ),
        launcher=_with(("x.stride(0), y.stride(0)", "1, 1")),
        status=Status.OUT_OF_BOUNDS,
    ),
    "same block for all": Mistake(
        sentence=(
            "Block 0 of z is all that is ever written: every program writes that block, or there is only one."
        ),
        next_step=("Which program writes the first element after block 0?"),
        launcher=_with(("pid * BLOCK + tl.arange", "tl.arange")),
    ),
    "tail without a program": Mistake(
        sentence=(
            "The ragged tail of z was never written, as if there were only n // BLOCK blocks, rounded down."
        ),
        next_step="Which program writes element n − 1, the last one?",
        launcher=_with(("triton.cdiv(n, BLOCK)", "max(n // BLOCK, 1)")),
    ),
    "a scales the sum": Mistake(
        sentence="z is a·(x + y): a scales y too.",
        next_step="z = a·x + y: a multiplies x alone.",
        wrong=lambda a, x, y: a * (x + y),
    ),
    "a scales y": Mistake(
        sentence="z is x + a·y: the other vector is scaled.",
        next_step="z = a·x + y: a multiplies x.",
        wrong=lambda a, x, y: x + a * y,
    ),
    "a is missing": Mistake(
        sentence="z is x + y: the factor a is missing.",
        next_step="z = a·x + y: a multiplies x.",
        wrong=lambda a, x, y: x + y,
    ),
    "y is subtracted": Mistake(
        sentence="z is a·x − y: y is subtracted.",
        next_step="z is the sum of a·x and y.",
        wrong=lambda a, x, y: a * x - y,
    ),
    "a is added": Mistake(
        sentence="z is a + x + y: a is added to x, and x is not multiplied by it.",
        next_step="z = a·x + y: a multiplies x.",
        wrong=lambda a, x, y: a + x + y,
    ),
    "a·x is rounded": Mistake(
        sentence=(
            "a·x is rounded to the dtype of x before y is added: where the two nearly cancel, the result "
            "consists of the very digits that are lost."
        ),
        next_step="Add in fp32, and round once, when z is stored.",
        wrong=lambda a, x, y: (a * x.float()).to(x.dtype) + y,
    ),
}


CANCELLING = "cancelling"
"""y is −a·x, rounded: z is the error of that rounding, which half precision has no digits for."""


def vectors(
    n: int, dtype: torch.dtype = torch.float32, note: str = "", name: str = "", **more: object
) -> Case:
    """Two vectors of n elements, ragged where blocks of 1024 do not divide them; `name` replaces n."""
    tags = {"ragged": n % 1024 != 0, "large": False}
    return build_case("" if name else elements(n), {"n": n}, dtype, name or note, tags=tags, **more)


def vector_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """a, and x and y [n]; strided ones are every second and every third element of longer vectors."""
    n = case.sizes["n"]
    a = 0.5 + round(float(torch.rand((), generator=generator)) * 2, 3)  # neither 0 nor 1
    a = -a if case.data == "negative a" else a
    if case.layout == "strided":  # steps differ, so that one stride for both is seen
        return {"a": a, "x": draw(case, generator, 2 * n)[::2], "y": draw(case, generator, 3 * n)[1::3]}
    x = draw(case, generator, n)
    if case.data == CANCELLING:
        return {"a": a, "x": x, "y": (-a * x.float()).to(case.dtype)}
    return {"a": a, "x": x, "y": draw(case, generator, n)}


scaled_add = Exercise(
    name="scaled_add",
    lesson="00",
    kind=Kind.KERNEL,
    title="z = a·x + y with a ragged tail",
    signature="(a: float, x, y) -> z",
    outputs=("z",),
    inputs=vector_inputs,
    cases=(
        vectors(1000, seed=1),
        vectors(5, note="less than a block", seed=2),
        vectors(1, seed=3),
        vectors(2048, note="whole blocks", seed=4),
        vectors(2500, note="a negative", data="negative a", seed=5),
        vectors(700, name="every 2nd of x, every 3rd of y", layout="strided", seed=6),
        vectors(333, name="values near 10⁴", magnitude=1e4, seed=7),
        vectors(3000, torch.float16, "y near −a·x", data=CANCELLING, seed=8),
        vectors(3000, torch.bfloat16, seed=9),
        vectors(40_500, seed=12),
        vectors(1_000_003, gpu=True, seed=10),
    ),
    judged=HowJudged(
        reference=scaled_add_in_torch,
        accumulates=False,
        launcher_arithmetic=False,
        work=lambda inputs: Work(
            operations=2 * inputs["x"].numel(), bytes=3 * inputs["x"].numel() * inputs["x"].element_size()
        ),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=lambda a, x, y: torch.add(y, x, alpha=a),
        case=vectors(2**25, name="2²⁵ elements", gpu=True, seed=11),
    ),
    solution="flashlearn.kernels.tour:scaled_add",
)
