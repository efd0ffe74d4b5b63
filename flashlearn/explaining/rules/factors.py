"""What a constant means: alpha, the number of programs, ln 2, a size of the case."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from flashlearn.explaining.rules.clue import Clue
from flashlearn.outcome import Finding, refacted

CONSTANTS = {"ln 2 = 0.693": math.log(2), "log2 e = 1.443": 1 / math.log(2), "2": 2.0, "1/2": 0.5, "−1": -1.0}
CLOSE = 2e-3


@dataclass(frozen=True)
class Meaning:
    """What a number is: something by its symbol, or the number of programs along an `axis` of the grid.

    With `log` 1 it is that one's logarithm, with −1 minus the logarithm.
    """

    symbol: str = ""
    axis: int | None = None
    log: int = 0


def meaning_of_factor(clues: Sequence[Clue], findings: Sequence[Finding]) -> Finding:
    """The first finding, its factor called by what it is in every case."""
    return _with_meaning(clues, findings, "factor", _meaning)


def meaning_of_summand(clues: Sequence[Clue], findings: Sequence[Finding]) -> Finding:
    """The first finding, its constant called by what it is in every case."""
    return _with_meaning(clues, findings, "constant", _summand)


def _with_meaning(
    clues: Sequence[Clue], findings: Sequence[Finding], key: str, meaning_of: Callable
) -> Finding:
    """With the meaning, or the span of the numbers where they have none and differ."""
    values = [finding.facts[key] for finding in findings]
    more: dict[str, Any] = {"meaning": meaning_of(clues, values)}
    if more["meaning"] is None and not all(math.isclose(v, values[0], rel_tol=CLOSE) for v in values):
        more["span"] = (min(values), max(values))
    return refacted(findings[0], {**findings[0].facts, **more})


def _meaning(clues: Sequence[Clue], values: Sequence[float]) -> Meaning | None:
    """A factor that has one name in every case."""
    for symbol, value in CONSTANTS.items():
        if all(math.isclose(v, value, rel_tol=CLOSE) for v in values):
            return Meaning(symbol)
    for meaning, of in _quantities(clues[0]):
        if all(_same(of(clue), v) for clue, v in zip(clues, values, strict=True)):
            return meaning
    return None


def _summand(clues: Sequence[Clue], values: Sequence[float]) -> Meaning | None:
    for sign, mark in ((1, ""), (-1, "−")):
        for symbol, value in (("ln 2", math.log(2)), ("1", 1.0)):
            if all(math.isclose(v, sign * value, rel_tol=CLOSE) for v in values):
                return Meaning(mark + symbol)
        for meaning, of in _quantities(clues[0]):
            numbers = [of(clue) for clue in clues]
            if all(
                n and n > 0 and _same(sign * math.log(n), v) for n, v in zip(numbers, values, strict=True)
            ):
                return replace(meaning, log=sign)
    return None


def _same(value: float | None, other: float) -> bool:
    return value is not None and math.isclose(value, other, rel_tol=CLOSE)


def _quantities(clue: Clue) -> list[tuple[Meaning, Callable[[Clue], float | None]]]:
    """Numbers by name that a kernel has at hand: its scalars, the programs of its grid, the case's sizes."""
    found: list[tuple[Meaning, Callable[[Clue], float | None]]] = []
    for name, value in clue.inputs.items():
        if type(value) in (int, float):
            for symbol, power in ((name, 1), (f"1/{name}", -1), (f"{name}²", 2), (f"1/{name}²", -2)):
                found.append((Meaning(symbol), lambda c, n=name, p=power: _power(c.inputs[n], p)))
    for axis in range(3):
        found.append((Meaning(axis=axis), lambda c, a=axis: _programs(c, a)))
    for name in clue.outcome.case.sizes:
        for symbol, power in ((name, 1), (f"1/{name}", -1), (f"√{name}", 0.5), (f"1/√{name}", -0.5)):
            found.append((Meaning(symbol), lambda c, n=name, p=power: _power(c.outcome.case.sizes[n], p)))
    return found


def _power(value: float, power: float) -> float | None:
    return float(value) ** power if value and (value > 0 or power == int(power)) else None


def _programs(clue: Clue, axis: int) -> float | None:
    grids = {launch.grid[axis] for launch in clue.outcome.launches}
    return float(max(grids)) if grids and max(grids) > 1 else None
