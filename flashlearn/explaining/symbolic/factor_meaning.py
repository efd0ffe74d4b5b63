"""What a factor is: a number, an argument, or a size to one power in every case."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from flashlearn.explaining.symbolic.predictions import Fits
from flashlearn.judging.symbolic.exact_numbers import same
from flashlearn.judging.symbolic.patterns import CONSTANT, SYMBOL, Pattern
from flashlearn.outcome import Outcome

ROOT = sp.Rational(1, 2)
POWERS = (sp.S.One, sp.S.NegativeOne, ROOT, -ROOT, sp.Integer(-2))


@dataclass(frozen=True)
class Seen:
    """The factor that one output has in a case; without a `pattern` the output is right there."""

    outcome: Outcome
    pattern: Pattern | None


def common(fits: Fits, seen: Sequence[Seen]) -> Pattern | None:
    """The factor of every wrong case: one number or argument, or what explains all of them; else None."""
    patterns = [one.pattern for one in seen if one.pattern is not None]
    first = patterns[0]
    alike = first if all(_stands_for(p) == _stands_for(first) for p in patterns) else None
    if alike is not None and len(patterns) == len(seen):
        return alike
    found = [(name, power) for name, power in _candidates(fits) if _explains(fits, seen, name, power)]
    if len(found) != 1:
        return alike
    name, power = found[0]
    known = next((p for p in patterns if p.name == SYMBOL), None)
    sized = {"subject": first.facts["subject"], "symbol": name, "power": power, "size": True}
    return known if known is not None else Pattern(SYMBOL, sized)


def _stands_for(pattern: Pattern) -> tuple:
    return (pattern.name, pattern.ratio, pattern.facts.get("symbol"), pattern.facts.get("power"))


def _candidates(fits: Fits) -> Iterator[tuple[str, sp.Expr]]:
    """Numbers among the arguments, and sizes of the cases, each to a power."""
    names = {name for o in fits.outcomes for name in (*o.case.sizes, *fits.given(o))}
    return ((name, power) for name in sorted(names) for power in POWERS)


def _value(fits: Fits, outcome: Outcome, name: str) -> Any:
    return fits.given(outcome).get(name, outcome.case.sizes.get(name))


def _explains(fits: Fits, seen: Sequence[Seen], name: str, power: sp.Expr) -> bool:
    """Whether name^power is the factor in every wrong case, and 1 wherever the output is right."""
    for one in seen:
        value = _value(fits, one.outcome, name)
        if one.pattern is not None and one.pattern.name == SYMBOL:
            if (one.pattern.facts["symbol"], one.pattern.facts["power"]) != (name, power):
                return False
            continue
        ratio = sp.S.One if one.pattern is None else one.pattern.ratio
        if not isinstance(value, (int, sp.Expr)) or not sp.sympify(value).is_number or not value:
            return False
        if not same(sp.sympify(value) ** power, ratio):
            return False
    return True


def of_a_factor(pattern: Pattern | None) -> bool:
    """Whether the pattern is a factor: a number or an argument."""
    return pattern is not None and pattern.name in (CONSTANT, SYMBOL)
