"""Points at which two answers are compared: generic ones decide, simple ones show.

A generic point is random but repeatable, its values distinct and of every sign that the
assumptions allow; a simple one is what one would pick by hand.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import sympy as sp

from flashlearn.judging.symbolic.evaluation import Evaluator, Point
from flashlearn.judging.symbolic.exact_numbers import Undefined
from flashlearn.judging.symbolic.sampling_plan import Plan

GENERIC_DRAWS = 6


def generic(plan: Plan) -> Iterator[Point]:
    """Points of every sign and order; more of them where indices or pieces must be met."""
    count = GENERIC_DRAWS * (2 if plan.indices else 1) * (2 if plan.regions else 1)
    yield from _points(plan, (_Generic(plan, turn) for turn in range(1 if plan.constant else count)))


def simple(plan: Plan) -> Iterator[Point]:
    """Small points, simplest first: small integers, logarithms of small integers, size 2."""
    count = 24 if plan.indices else 14
    yield from _points(plan, (_Small(plan, turn) for turn in range(1 if plan.constant else count)))


def _points(plan: Plan, sources: Iterator[_Generic | _Small]) -> Iterator[Point]:
    for source in sources:
        try:
            yield _point(plan, source)
        except (Undefined, TypeError, ValueError):  # an empty range at these sizes
            continue


def _point(plan: Plan, source: _Generic | _Small) -> Point:
    point = Point({s: source.size(k) for k, s in enumerate(plan.sizes)}, source.entry)
    at = Evaluator(point)
    for k, index in enumerate(plan.indices):
        first, last = (int(at.value(sp.sympify(bound))) for bound in plan.ranges[index])
        point.symbols[index] = sp.Integer(first + source.index(k, max(1, last - first + 1)))
    counted: dict[str, int] = {}
    for symbol in plan.values:
        name = plan.family[symbol]
        counted[name] = counted.get(name, -1) + 1
        point.symbols[symbol] = source.value(name, counted[name], symbol)
    return point


class _Generic:
    """Random but repeatable values; `turn` decides on signs and sizes."""

    def __init__(self, plan: Plan, turn: int):
        self.plan, self.turn = plan, turn
        self.random = random.Random(turn)
        self.taken: set = set()

    def size(self, k: int) -> sp.Expr:
        return sp.Integer(2 + (k + self.turn) % 3)

    def index(self, k: int, count: int) -> int:
        return (self.turn // 2 + (k if self.turn % 2 == 0 else 0)) % count

    def entry(self, name: str, indices: tuple) -> sp.Expr:
        self.random = random.Random(f"{self.turn}/{name}/{indices}")
        return self.value(name, 0, None)

    def value(self, name: str, k: int, symbol: sp.Basic | None) -> sp.Expr:
        for _ in range(20):
            value = self._one(name, symbol)
            if value not in self.taken:
                break
        self.taken.add(value)
        return value

    def _one(self, name: str, symbol: sp.Basic | None) -> sp.Expr:
        plan, pick = self.plan, self.random
        sign = (pick.choice((1, -1)), 1, -1)[self.turn % 3]
        sign = _allowed_sign(symbol, name, plan, sign)
        integer = bool(symbol is not None and symbol.is_integer)
        if name in plan.logarithm and not integer:
            return sign * plan.logarithm[name] * sp.log(pick.randint(2, 7 + len(self.taken) // 2))
        most = 5 if name in plan.exponents else 9 + 4 * self.turn
        whole = integer or name in plan.exponents
        return sign * sp.Rational(pick.randint(1, most), 1 if whole else pick.choice((1, 1, 2, 3)))


class _Small:
    """The values one would pick by hand, a few variants by `turn`."""

    ROWS = (
        (1, 2, 3, 4, 5),
        (2, 1, 3, 1, 2),
        (1, 0, 2, 1, 3),
        (3, 1, 2, 5, 1),
        (1, -1, 2, 0, 1),
        (2, 3, 5, 7, 11),
        (-1, -2, -3, -1, -2),
    )

    def __init__(self, plan: Plan, turn: int):
        self.plan, self.turn = plan, turn
        self.row = self.ROWS[(turn // 4 if plan.indices else turn) % len(self.ROWS)]
        self.seen: dict[str, int] = {}

    def size(self, k: int) -> sp.Expr:
        return sp.Integer(3 if self.turn % 12 >= 9 and k % 2 else 2)

    def index(self, k: int, count: int) -> int:
        return ((self.turn % 4) >> (k % 2)) % count

    def entry(self, name: str, indices: tuple) -> sp.Expr:
        flat = sum(i * step for i, step in zip(indices, (2, 1, 3), strict=False) if isinstance(i, int))
        return self.value(name, abs(flat), None)

    def value(self, name: str, k: int, symbol: sp.Basic | None) -> sp.Expr:
        plan = self.plan
        shift = self.seen.setdefault(name, len(self.seen))
        raw = self.row[(k + shift) % len(self.row)]
        if name in plan.logarithm and not (symbol is not None and symbol.is_integer):
            strict = name in plan.positive or bool(symbol is not None and symbol.is_positive)
            return plan.logarithm[name] * sp.log(max(1, abs(raw)) + (1 if strict else 0))
        sign = _allowed_sign(symbol, name, plan, -1 if raw < 0 else 1)
        nonzero = name in plan.positive or (symbol is not None and symbol.is_nonzero)
        return sp.Integer(sign * (max(1, abs(raw)) if nonzero else abs(raw)))


def _allowed_sign(symbol: sp.Basic | None, name: str, plan: Plan, sign: int) -> int:
    if name in plan.positive or (symbol is not None and symbol.is_nonnegative):
        return 1
    return -1 if symbol is not None and symbol.is_nonpositive else sign
