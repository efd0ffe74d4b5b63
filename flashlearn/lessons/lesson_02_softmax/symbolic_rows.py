"""A row of probabilities in symbols: what the three symbolic exercises are asked about."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.softmax_in_symbols import probabilities

EXAMPLE_DERIVATIVES = sp.Matrix([1, -2, 0])
"""The gradient that arrives in the case "example"."""


def row(N: int, what: str = "any p", **more: object) -> Case:
    """A row of N probabilities."""
    return build_case(what, {"N": N}, note=f"N = {N}", **more)


ROWS = (
    Case("p = (1/6, 1/3, 1/2)", {"N": 3}, data="example"),
    row(2),
    row(3),
    row(4),
    row(1, what=""),
)


def shares(case: Case) -> sp.Matrix:
    """p of the case's size: exact fractions in "example", symbols otherwise."""
    if case.data == "example":
        return sp.Matrix([sp.Rational(1, 6), sp.Rational(1, 3), sp.Rational(1, 2)])
    return probabilities(case.sizes["N"])
