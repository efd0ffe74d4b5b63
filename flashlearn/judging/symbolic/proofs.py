"""Is a difference identically zero? Cheap stages first, each within what is left of the time.

`simplify` may run for minutes or raise on sums and deltas, so no stage is trusted to end or to
succeed: an unproved difference is no verdict, the points decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixExpr
from sympy.matrices.matrixbase import MatrixBase

from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.judging.symbolic.forms import Form

PROOF_SECONDS = 0.5


def within(seconds: float, work: Callable[[], object]) -> object | None:
    """What `work` returns, or None if it does not end in time or sympy gives up on it.

    A deadline that was set further out and runs out meanwhile is passed on.
    """
    started = time.monotonic()
    try:
        with deadline(seconds):
            return work()
    except TimeLimit:
        if time.monotonic() - started < 0.9 * seconds:
            raise
        return None
    except Exception:  # sympy raises StopIteration, RecursionError, PolynomialError, … on what it cannot do
        return None


def _ratio(difference: sp.Expr) -> sp.Expr:
    return sp.cancel(sp.together(difference.rewrite(sp.exp)))


STAGES: tuple[Callable[[sp.Expr], sp.Expr], ...] = (sp.expand, _ratio, sp.simplify)


def zero(difference: sp.Basic, until: float) -> bool:
    """Whether some stage turns the difference into 0 before `until` (a monotonic time)."""
    for stage in STAGES:
        left = until - time.monotonic()
        if left <= 0:
            return False
        result = within(left, lambda stage=stage: stage(difference))
        if result is not None and result == 0:
            return True
    return False


def proved(expected: Form, got: Form) -> bool:
    """Whether the two are shown to be equal for all values of their symbols, in PROOF_SECONDS."""
    until = time.monotonic() + PROOF_SECONDS
    theirs = dict(got.leaves())
    return all(_equal(leaf, theirs[label], until) for label, leaf in expected.leaves())


def _equal(a: sp.Basic, b: sp.Basic, until: float) -> bool:
    if a == b:
        return True
    if isinstance(a, MatrixBase) and isinstance(b, MatrixBase):
        return all(x == y or zero(x - y, until) for x, y in zip(a, b, strict=True))
    if isinstance(a, (MatrixBase, MatrixExpr)):
        return bool(within(max(0.01, until - time.monotonic()), lambda: _matrices_equal(a, b)))
    return isinstance(a, sp.Expr) and isinstance(b, sp.Expr) and zero(a - b, until)


def _matrices_equal(a: sp.Basic, b: sp.Basic) -> bool:
    a, b = (m.doit() for m in (a, b))
    if a == b or (a - b).doit() == sp.ZeroMatrix(*a.shape):
        return True
    if isinstance(a, MatrixBase) or isinstance(b, MatrixBase):
        return sp.simplify(a.as_explicit() - b.as_explicit()).is_zero_matrix is True
    return sp.simplify((a - b).expand().doit()) == sp.ZeroMatrix(*a.shape)
