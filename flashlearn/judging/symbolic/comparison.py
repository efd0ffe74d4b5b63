"""Two answers at exact points: where both have a value, which entries differ, and by how much."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import sympy as sp
from sympy.matrices.matrixbase import MatrixBase

from flashlearn.judging.symbolic import points
from flashlearn.judging.symbolic.evaluation import Evaluator, Point, TooLarge
from flashlearn.judging.symbolic.exact_numbers import Undefined, is_zero
from flashlearn.judging.symbolic.forms import Form
from flashlearn.judging.symbolic.sampling_plan import Plan

Cells = dict[tuple, sp.Expr]


@dataclass(frozen=True)
class Sample:
    """Both answers at one point, cell by cell; `wrong` are the labels that differ.

    `outside` are array entries that the learner's answer reads outside the range that the right one reads.
    """

    point: Point
    expected: Cells
    got: Cells
    wrong: tuple[tuple, ...]
    exact: bool = True
    outside: tuple[tuple[str, tuple], ...] = ()


@dataclass
class Comparison:
    """What a series of points showed."""

    samples: list[Sample] = field(default_factory=list)
    undefined: list[Point] = field(default_factory=list)
    too_large: bool = False

    @property
    def differ(self) -> bool:
        return any(sample.wrong for sample in self.samples)

    @property
    def exact(self) -> bool:
        return all(sample.exact for sample in self.samples)


def cells(form: Form, point: Point) -> Cells:
    """The values of a form, matrices entry by entry."""
    at, found = Evaluator(point), {}
    for label, leaf in form.leaves():
        value = at(leaf)
        if isinstance(value, MatrixBase):
            for i in range(value.rows):
                for j in range(value.cols):
                    found[(*label, i, j)] = value[i, j]
        else:
            found[label] = value
    return found


def sample(expected: Form, got: Form, point: Point) -> Sample | None:
    """Both at one point; None if `expected` has no value there. Raises Undefined if only `got` has none."""
    try:
        right = cells(expected, point)
    except (Undefined, TooLarge):
        return None
    asked = set(point.entries)
    yours = cells(got, point)
    if right.keys() != yours.keys():
        raise Undefined("the shapes differ here")
    wrong, exact = [], True
    for label, value in right.items():
        if value == yours[label]:
            continue
        same, certain = same_value(value, yours[label])
        exact &= certain
        if not same:
            wrong.append(label)
    return Sample(point, right, yours, tuple(wrong), exact, _outside(asked, set(point.entries) - asked))


def _outside(asked: set, more: set) -> tuple:
    """The further entries whose index is below the least or above the largest asked for, on some axis."""
    found = []
    for name, index in sorted(more, key=str):
        known = [i for other, i in asked if other == name and len(i) == len(index)]
        whole = all(isinstance(i, int) for i in index)
        if (
            whole
            and known
            and any(not min(a) <= i <= max(a) for i, a in zip(index, zip(*known, strict=True), strict=True))
        ):
            found.append((name, index))
    return tuple(found)


def same_value(a: sp.Expr, b: sp.Expr) -> tuple[bool, bool]:
    """Whether two values are the same, and whether that is certain."""
    if not isinstance(a, sp.Expr) or not isinstance(b, sp.Expr) or not (a.is_finite and b.is_finite):
        return a == b, True
    return is_zero(a - b)


def compare(
    expected: Form, got: Form, points: Iterable[Point], *, enough: int = 4, seconds: float = 1.5
) -> Comparison:
    """Both at each point, until `enough` points showed a difference or the time is over."""
    result, until = Comparison(), time.monotonic() + seconds
    for point in points:
        try:
            one = sample(expected, got, point)
        except Undefined:
            result.undefined.append(point)
            continue
        except TooLarge:
            result.too_large = True
            continue
        if one is not None:
            result.samples.append(one)
        if sum(bool(s.wrong) for s in result.samples) >= enough or (
            result.samples and time.monotonic() > until
        ):
            break
    return result


def roughness(expected: Form, got: Form, plan: Plan) -> int:
    """The number of irrational values at the first point with values; huge if there is no such point."""
    for point in points.generic(plan):
        try:
            values = [*cells(expected, point).values(), *cells(got, point).values()]
        except (Undefined, TooLarge):
            continue
        return sum(not value.is_Rational for value in values)
    return 10**6
