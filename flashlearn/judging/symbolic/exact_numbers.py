"""Numbers: a normal form, and whether two are equal, exactly or to 25 digits."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

MAX_PARTS = 60


class Undefined(Exception):
    """The expression has no value here: a division by zero, an index outside, a free symbol left."""


def defined(value: sp.Basic) -> sp.Basic:
    """The value; raises Undefined if it is not a number or still contains a symbol."""
    if value.has(sp.nan, sp.zoo) or value.free_symbols:
        raise Undefined(f"{value}")
    return value


def tidy(value: sp.Expr) -> sp.Expr:
    """The number with logarithms of integers split into those of primes, so that equal numbers cancel.

    Only for short ones that logarithms, roots and rationals make up: expanding others takes too long.
    """
    if value.is_Rational or not isinstance(value, sp.Expr) or value.count_ops() > MAX_PARTS:
        return value
    if any(not isinstance(part, sp.log) for part in value.atoms(sp.Function)):
        return value
    logarithms = value.has(sp.log)
    return sp.expand(sp.expand_log(value, factor=True)) if logarithms else sp.radsimp(value, max_terms=3)


def same(a: sp.Expr, b: sp.Expr) -> bool:
    """Whether two numbers are equal, to 25 digits where they are not rational."""
    return a == b or (isinstance(a, sp.Expr) and isinstance(b, sp.Expr) and is_zero(a - b)[0])


def is_zero(difference: sp.Expr) -> tuple[bool, bool]:
    """Whether a number is zero, and whether that is exact (not only to 25 digits)."""
    if difference.is_Rational:
        return difference == 0, True
    if not abs(sp.N(difference, 40, maxn=400)) < sp.Float("1e-25"):
        return False, True
    return True, tidy(difference) == 0


def simple_rational(value: sp.Expr) -> sp.Expr:
    """The rational of small denominator that a number equals to 25 digits, else the number."""
    if value.is_Rational or not value.is_real:
        return value
    digits = sp.N(value, 40, maxn=400)
    near = sp.Rational(Fraction(str(digits)).limit_denominator(1000))
    return near if same(value, near) else value
