"""What a constant means: alpha, the number of programs, ln 2, a size of the case."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from flashlearn.outcome import Finding
from flashlearn.rules.clue import Clue

CONSTANTS = {"ln 2 = 0.693": math.log(2), "log2 e = 1.443": 1 / math.log(2), "2": 2.0, "1/2": 0.5, "−1": -1.0}
CLOSE = 2e-3


def with_meaning(clues: Sequence[Clue], findings: Sequence[Finding]) -> Finding:
    """The first finding, its factor or constant called by what it is in every case."""
    key = next((k for k in ("factor", "constant") if k in findings[0].evidence), "")
    if not key:
        return findings[0]
    values = [finding.evidence[key] for finding in findings]
    name = clues[0].name
    meaning = _meaning(clues, values) if key == "factor" else _summand(clues, values)
    if meaning:
        how = f"{meaning} times the right answer" if key == "factor" else f"the right answer plus {meaning}"
        sentence = f"{name} is {how}, everywhere and in every case."
    elif all(math.isclose(v, values[0], rel_tol=CLOSE) for v in values):
        return findings[0]
    else:
        span = f"{min(values):.3g} to {max(values):.3g}"
        how = "times the right answer" if key == "factor" else "more than the right answer"
        sentence = (
            f"Within a case {name} is one number {how}, but the number changes from case to case: {span}."
        )
    return replace(findings[0], sentence=sentence, evidence={key: values[0], "meaning": meaning})


def _meaning(clues: Sequence[Clue], values: Sequence[float]) -> str:
    """A factor that has one name in every case."""
    for words, value in CONSTANTS.items():
        if all(math.isclose(v, value, rel_tol=CLOSE) for v in values):
            return words
    for words, of in _quantities(clues[0]):
        if all(_same(of(clue), v) for clue, v in zip(clues, values, strict=True)):
            return words
    return ""


def _summand(clues: Sequence[Clue], values: Sequence[float]) -> str:
    for sign, sign_words in ((1.0, ""), (-1.0, "−")):
        for words, value in (("ln 2", math.log(2)), ("1", 1.0)):
            if all(math.isclose(v, sign * value, rel_tol=CLOSE) for v in values):
                return sign_words + words
        for words, of in _quantities(clues[0]):
            numbers = [of(clue) for clue in clues]
            if all(
                n and n > 0 and _same(sign * math.log(n), v) for n, v in zip(numbers, values, strict=True)
            ):
                return f"{sign_words}ln({words})"
    return ""


def _same(value: float | None, other: float) -> bool:
    return value is not None and math.isclose(value, other, rel_tol=CLOSE)


def _quantities(clue: Clue) -> list[tuple[str, Callable[[Clue], float | None]]]:
    """Numbers by name that a kernel has at hand: its scalars, the programs of its grid, the case's sizes."""
    found: list[tuple[str, Callable[[Clue], float | None]]] = []
    for name, value in clue.inputs.items():
        if type(value) in (int, float):
            for words, power in ((name, 1), (f"1/{name}", -1), (f"{name}²", 2), (f"1/{name}²", -2)):
                found.append((words, lambda c, n=name, p=power: _power(c.inputs[n], p)))
    for axis in range(3):
        words = f"the number of programs along axis {axis}"
        found.append((words, lambda c, a=axis: _programs(c, a)))
    for name in clue.outcome.case.sizes:
        for words, power in ((name, 1), (f"1/{name}", -1), (f"√{name}", 0.5), (f"1/√{name}", -0.5)):
            found.append((words, lambda c, n=name, p=power: _power(c.outcome.case.sizes[n], p)))
    return found


def _power(value: float, power: float) -> float | None:
    return float(value) ** power if value and (value > 0 or power == int(power)) else None


def _programs(clue: Clue, axis: int) -> float | None:
    grids = {launch.grid[axis] for launch in clue.outcome.launches}
    return float(max(grids)) if grids and max(grids) > 1 else None
