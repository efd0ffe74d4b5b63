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
    """Two outputs in each other's place, either of them transposed perhaps; or one in the other's place."""
    outputs = fits.exercise.outputs
    if len(outputs) != 2 or any(len(o.outputs) != 2 for o in fits.outcomes):
        return None
    first, second = (_how_returned(fits, which) for which in (0, 1))
    how = dict(zip(outputs, (first, second), strict=True))
    transposed = tuple(name for name in outputs if how[name] == "transposed")
    if first and second:
        count = len(fits.outcomes)  # what is said of both explains every case
        return Finding(Swapped(outputs, transposed), None, count, count)
    found = next((name for name in outputs if how[name]), "")
    if not found or _is_right_somewhere(fits):
        return None
    wrong = outputs[1] if found == outputs[0] else outputs[0]
    return Finding(Swapped(outputs, transposed, wrong), partial=True)


def _how_returned(fits: Fits, which: int) -> str:
    """How the right value of one of two outputs is what is returned as the other one, "" if it is not."""
    pairs = [(o.outputs[which].expected, o.outputs[1 - which].got, o) for o in fits.outcomes]
    if all(fits.equal(expected, got, outcome) for expected, got, outcome in pairs):
        return "right"
    matrices = all(isinstance(one, MatrixBase) for pair in pairs for one in pair[:2])
    turned = matrices and all(fits.equal(expected.T, got, outcome) for expected, got, outcome in pairs)
    return "transposed" if turned else ""


def _is_right_somewhere(fits: Fits) -> bool:
    """Whether an output is right in its own place, in a case with more than one number."""
    checks = (check for outcome in fits.outcomes for check in outcome.outputs if check.ok)
    return any(not isinstance(check.got, MatrixBase) or len(check.got) > 1 for check in checks)


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
