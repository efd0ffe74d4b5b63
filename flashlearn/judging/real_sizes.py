"""A kernel passes its small cases: would it also be right for tensors as large as in use?

>>> beyond_small_cases(exercise, answer, outcomes)        # a Caution says what is not; None if all is well

Nothing is computed: the launcher gets tensors without memory, and the addresses and grids are checked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from flashlearn.exercise import Exercise, Inputs
from flashlearn.interpreter.arguments import GRID_MOST
from flashlearn.interpreter.cautions import GRID_AXIS, OVERFLOW
from flashlearn.interpreter.index_overflow import spread, with_strides
from flashlearn.interpreter.observers.int32_overflow import Int32Overflows
from flashlearn.outcome import Caution, Outcome, Place, Status
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Int32OverflowProbe

ROWS_APART, COLUMNS_APART = "rows apart", "columns apart"
"""Keys of an exercise's `real_sizes` for matrices: how many elements lie between two neighbours."""
MANY_HEADS = {"B": 512, "H": 256, "S": 64, "D": 16}
"""More heads in all than a grid's second axis has room for, and fewer of each kind."""


MANY_PARTS = {"B": 1024, "H": 512, "D": 128}
"""So many that a part of one number for each element of Q has more than 2³¹ of them."""

LONGEST = 128
"""A kernel's loops over a longer case would take long."""

PASS_BY = "The cases pass because their tensors are small."
"""Why a kernel whose offsets wrap around passes its cases."""


def beyond_small_cases(exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome]) -> Caution | None:
    """What is wrong with a kernel that passes its cases once the tensors are large; None if nothing is."""
    return check_offset_range(exercise, answer) or check_grid_axes(exercise, answer, outcomes)


def not_shown(caution: Caution) -> Caution:
    """The same of a kernel with cases that fail, for another reason."""
    sentence = caution.sentence.replace(PASS_BY, "No case shows it, because their tensors are small.")
    return dataclasses.replace(caution, sentence=sentence)


def check_offset_range(exercise: Exercise, answer: Answer) -> Caution | None:
    """Do the kernel's offsets fit where its tensors are as large as in use?

    A kernel fails here only if it leaves a tensor with 32-bit integers that wrap around, as a GPU's do, and
    stays inside with integers that do not: anything else that happens proves nothing, and is not reported.
    An offset between parts of a sum may wrap around and lead into another part: there no integer may.
    """
    if exercise.judged.many_parts and (wrapped := _wraps_between_parts(exercise, answer)) is not None:
        return wrapped
    for inputs, words in large_inputs(exercise):
        wrapped = answer.run(inputs, Int32OverflowProbe())
        overflows = wrapped.observations.get(Int32Overflows)
        if wrapped.raised is None or wrapped.raised.status is not Status.OUT_OF_BOUNDS or not overflows:
            continue
        if answer.run(inputs, Int32OverflowProbe(wide=True)).raised is not None:
            continue
        return _caution(words, *overflows[0], "is outside the tensor")
    return None


def _caution(words: str, value: int, place: Place | None, leads: str) -> Caution:
    line = f"line {place.line}" if place is not None else "a line"
    sentence = (
        f"{words} {line} computes {value} in 32 bits, where the largest number is 2³¹ − 1: the offset wraps "
        f"around, and the address {leads}. {PASS_BY} "
        "Convert the index to 64 bits, with `.to(tl.int64)`, before it is multiplied."
    )
    return Caution(OVERFLOW, sentence, place)


def _wraps_between_parts(exercise: Exercise, answer: Answer) -> Caution | None:
    """The first integer that wraps around where the parts of a sum are large, one after the other."""
    wrapped = answer.run(_of_many_heads(exercise), Int32OverflowProbe())
    overflows = wrapped.observations.get(Int32Overflows)
    if (
        not overflows
        or answer.run(_of_many_heads(exercise), Int32OverflowProbe(wide=True)).raised is not None
    ):
        return None
    words = f"With {', '.join(f'{name} {size}' for name, size in MANY_PARTS.items())},"
    return _caution(words, *overflows[0], "is that of another part, or outside the tensor")


def large_inputs(exercise: Exercise) -> Iterator[tuple[Inputs, str]]:
    """Inputs of real sizes without memory, with the beginning of a sentence about them."""
    sizes, case = dict(exercise.judged.real_sizes), exercise.cases[0]
    gaps = {key: sizes.pop(key) for key in (ROWS_APART, COLUMNS_APART) if key in sizes}
    if not gaps and sizes:
        words = ", ".join(f"{name} {size}" for name, size in sizes.items())
        yield spread(exercise.inputs(case, case.generator()), sizes), f"At real sizes ({words})"
        far = spread(exercise.inputs(case, case.generator()), sizes, heads_outermost=True)
        yield far, f"At real sizes ({words}) and with the heads outermost in memory,"
        return
    case = dataclasses.replace(case, sizes={**case.sizes, **sizes})
    for key, gap in gaps.items():
        lines, strides = key.split()[0], (gap, 1) if key == ROWS_APART else (1, gap)
        words = f"Where neighbouring {lines} are {gap} elements apart, as in a view of a large matrix,"
        yield with_strides(exercise.inputs(case, case.generator()), strides), words


def _of_many_heads(exercise: Exercise) -> Inputs:
    """Inputs of the longest usual case with so many heads that the second part begins beyond 2³¹ elements."""
    usual = [case for case in exercise.cases if max(case.sizes["S_q"], case.sizes["S_k"]) <= LONGEST]
    case = max(usual, key=lambda case: case.sizes["S_q"] * case.sizes["S_k"])
    return spread(exercise.inputs(case, case.generator()), {**MANY_PARTS, "S": case.sizes["S_q"]})


def check_grid_axes(exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome]) -> Caution | None:
    """Does a grid have room for B and H where both are large, though each of them is allowed to be?

    Asked only of launchers that have a multiple of B · H programs along the second or third axis.
    """
    if not exercise.judged.many_heads or not any(map(_heads_on_one_axis, outcomes)):
        return None
    case = exercise.cases[0]
    inputs = spread(exercise.inputs(case, case.generator()), MANY_HEADS)
    ended = answer.run(inputs, Int32OverflowProbe()).raised
    if ended is None or "a GPU takes at most" not in ended.sentence:
        return None
    B, H, most = MANY_HEADS["B"], MANY_HEADS["H"], GRID_MOST[1]
    sentence = (
        f"With B {B} and H {H} the launch fails: all B · H heads are on one axis of the grid. "
        f"{ended.sentence} B and H may each be up to {most}: give each an axis of its own, or put B · H on "
        "the first axis."
    )
    return Caution(GRID_AXIS, sentence, ended.place)


def _heads_on_one_axis(outcome: Outcome) -> bool:
    B, H = outcome.case.sizes.get("B", 1), outcome.case.sizes.get("H", 1)
    if B == 1 or H == 1:
        return False
    return any(size and size % (B * H) == 0 for launch in outcome.launches for size in launch.grid[1:])
