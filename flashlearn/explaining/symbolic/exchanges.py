"""Right values in a wrong place: outputs that are exchanged, or two arguments exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import sympy as sp
from sympy.matrices.matrixbase import MatrixBase

from flashlearn.explaining.findings.symbolic import ArgumentsExchanged, Swapped
from flashlearn.explaining.symbolic.predictions import Fits
from flashlearn.outcome import Finding


def outputs_exchanged(fits: Fits) -> Finding | None:
    """Two outputs in each other's place."""
    outputs = fits.exercise.outputs
    if len(outputs) != 2 or any(len(o.outputs) != 2 for o in fits.outcomes):
        return None
    for outcome in fits.outcomes:
        first, second = outcome.outputs
        crossed = ((first.expected, second.got), (second.expected, first.got))
        if not all(fits.equal(e, g, outcome) for e, g in crossed):
            return None
    return Finding(Swapped(outputs))


def arguments_exchanged(fits: Fits) -> Finding | None:
    """Two arguments exchanged, if it is one pair and no other."""
    found = [pair for pair in combinations(fits.exercise.parameters(), 2) if _exchanged(fits, *pair)]
    if len(found) != 1:
        return None
    count = len(fits.outcomes)
    return Finding(ArgumentsExchanged(found[0]), None, count, count)


def _exchanged(fits: Fits, one: str, other: str) -> bool:
    def answer(**given: Any) -> Any:
        return fits.exercise.reference(**{**given, one: given[other], other: given[one]})

    return all(_alike(fits.given(o), one, other) for o in fits.outcomes) and fits.explains(answer)


def _alike(given: Mapping[str, Any], one: str, other: str) -> bool:
    """Whether both are matrices, arrays or single numbers: others are not easily confused."""
    kind = _kind(given.get(one))
    return kind is not None and kind is _kind(given.get(other))


def _kind(value: Any) -> type | None:
    kinds = (MatrixBase, sp.IndexedBase, sp.Expr)  # an array is an expression, too
    return next((kind for kind in kinds if isinstance(value, kind)), None)
