"""Cases that an exercise does not have: the same kinds of inputs at other lengths, with other numbers.

What repairs the exercise's own cases may do so by luck, since some sizes are forgiving. What also holds on
these is believed.

    >>> [case.sizes for case in fresh_cases(exercise, [exercise.cases[0]])]
    [{'M': 50, 'N': 33}]
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from flashlearn.exercise import Case, Exercise, Kind

LENGTHS = ("n", "rows", "columns", "R", "S", "S_q", "S_k", "M", "N", "K")
"""Names of sizes that may take other values; the others (head size, blocks, heads) stay as they are."""

FIXED_DATA = ("example", "low scores, whole tiles")
"""Special fillings that exist at one size only."""

STEPS = (13, 22, 7)
"""Lengths grow by these, case by case, times a common unit of the exercise's lengths."""

FRESH_SEED = 104_729


def fresh_cases(exercise: Exercise, bases: Iterable[Case]) -> list[Case]:
    """A case for each base: longer, with new numbers; all else (heads, layout, dtype, data) is the base's.

    Lengths that are equal, and which of two is the larger, stay so: an exercise may rely on it. Where a base
    has no length that can change, only the numbers are new. Symbolic exercises have none.
    """
    if exercise.kind is Kind.SYMBOLIC:
        return []
    unit = _unit(exercise)
    return [
        _longer(case, STEPS[number % len(STEPS)], unit, FRESH_SEED + number)
        for number, case in enumerate(bases)
        if case.data not in FIXED_DATA
    ]


def _unit(exercise: Exercise) -> int:
    """The least number of elements by which all lengths can grow: each stays a multiple of what it was."""
    common: dict[str, int] = {}
    for case in exercise.cases:
        for name in LENGTHS:
            if name in case.sizes:
                common[name] = math.gcd(common.get(name, 0), case.sizes[name])
    return math.lcm(*common.values())


def _longer(case: Case, step: int, unit: int, seed: int) -> Case:
    """The case with longer lengths. Of unequal ones the larger grows by more, so it stays the larger."""
    lengths = sorted({case.sizes[name] for name in LENGTHS if case.sizes.get(name, 0) > 1})
    grown = {size: size + unit * (step + 2 * number) for number, size in enumerate(lengths)}
    sizes = {name: grown.get(size, size) if name in LENGTHS else size for name, size in case.sizes.items()}
    name = f"{case.name}, longer"
    return dataclasses.replace(case, name=name, sizes=sizes, seed=case.seed + seed, gpu=False, compiled=False)
