"""The right answer times 0, times −1, or times or plus one number; and what that number is: alpha, ln 2,
a size of the case."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, near
from flashlearn.later import torch
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class Zero(Rule):
    """Every element of `output` is 0."""

    name = "zero everywhere"
    rank = 50
    hides = True

    output: str

    @classmethod
    def look(cls, clue: Clue) -> Zero | object | None:
        """Silent where the right answer is 0 as well."""
        if clue.exercise.explained.explain is not None:
            return None  # such an exercise explains itself what a 0 means
        if not bool(clue.expected.any()):
            return SILENT
        return cls(clue.name) if not bool(clue.got.any()) else None

    def wording(self) -> Wording:
        """Where to look for the line that should add to it."""
        return Wording(
            f"Every element of {self.output} is 0.",
            "Follow it back from where it is stored, or returned: in which line is something 0 first that "
            "should not be, in this case?",
        )


@dataclass(frozen=True)
class Sign(Rule):
    """`output` is minus the right answer."""

    name = "sign"
    rank = 60
    conclusive = True

    output: str

    @classmethod
    def look(cls, clue: Clue) -> Sign | None:
        """Right once negated."""
        return cls(clue.name) if clue.close(-clue.got) else None

    def wording(self) -> Wording:
        """Where a minus may be missing."""
        return Wording(
            f"{self.output} has the right magnitude but the opposite sign.",
            "Follow the sign through your lines: is a minus sign too many, missing or lost (as that of a "
            "negative alpha may be), or are the two parts of a difference in the wrong order?",
        )


CONSTANTS = {"ln 2 = 0.693": math.log(2), "log2 e = 1.443": 1 / math.log(2), "2": 2.0, "1/2": 0.5, "−1": -1.0}
CLOSE = 2e-3

Span = tuple[float, float]


@dataclass(frozen=True)
class Meaning:
    """What a number is: something by its symbol, or the number of programs along an `axis` of the grid.

    With `log` 1 it is the logarithm of that, with −1 minus the logarithm.
    """

    symbol: str = ""
    axis: int | None = None
    log: int = 0

    def __str__(self) -> str:
        words = self.symbol or f"the number of programs along axis {self.axis}"
        return {0: words, 1: f"ln({words})", -1: f"−ln({words})"}[self.log]


@dataclass(frozen=True)
class ConstantFactor(Rule):
    """The right answer times `factor`, which has a `meaning`, or changes from case to case within `span`."""

    name = "constant factor"
    rank = 90

    output: str
    factor: float
    meaning: Meaning | None = None
    span: Span | None = None

    @classmethod
    def look(cls, clue: Clue) -> float | object | None:
        """The factor in one case."""
        got, expected = clue.got.flatten(), clue.expected.flatten()
        finite = torch.isfinite(expected)
        if bool((got[~finite] != expected[~finite]).any()):
            return None
        got, expected = got[finite], expected[finite]
        if not bool(torch.isfinite(got).all()):
            return None
        norm = float(expected @ expected)
        if got.numel() < 3 or norm == 0:
            return SILENT
        factor = float(got @ expected) / norm
        if math.isclose(abs(factor), 1.0, rel_tol=1e-3):
            return None  # −1 is for the sign's rule, and 1 would say nothing
        if not 1e-6 < abs(factor) < 1e6 or not clue.close(clue.got / factor):
            return None
        return factor

    @classmethod
    def agree(cls, clues: Sequence[Clue], seen: Sequence[float]) -> ConstantFactor:
        """The first case's factor, with what it is in every case."""
        meaning = _meaning(clues, seen)
        return cls(clues[0].name, seen[0], meaning, _span(seen) if meaning is None else None)

    def wording(self) -> Wording:
        """The factor, by its meaning if it has one."""
        sentence = f"{self.output} is {self.factor:.4g} times the right answer, everywhere."
        if self.meaning is not None:
            sentence = f"{self.output} is {self.meaning} times the right answer, everywhere."
        elif self.span is not None:
            sentence = _changing(self.output, "times the right answer", self.span)
        return Wording(
            sentence,
            "Which factor of the formula is missing, appears once too often, or has another value here?",
        )


@dataclass(frozen=True)
class Lanes:
    """Lanes of the last `block` beyond a `size` of the case, which add `each` to a sum."""

    size: str
    block: int
    each: float


@dataclass(frozen=True)
class AddedConstant(Rule):
    """The right answer plus `constant`, which has a `meaning`, or changes from case to case."""

    name = "added constant"
    rank = 100
    conclusive = True

    output: str
    constant: float
    meaning: Meaning | None = None
    span: Span | None = None
    lanes: Lanes | None = None

    @classmethod
    def look(cls, clue: Clue) -> float | object | None:
        """The number in one case."""
        gap = (clue.got - clue.expected)[torch.isfinite(clue.expected)]
        if gap.numel() < 3:
            return SILENT
        size = float(gap.mean())
        if not math.isfinite(size) or not near(gap, torch.full_like(gap, size), clue.slack):
            return None
        if near(gap, torch.zeros_like(gap), clue.slack):
            return None  # right wherever it is finite: what is wrong is not finite, and nothing was added
        return size

    @classmethod
    def agree(cls, clues: Sequence[Clue], seen: Sequence[float]) -> AddedConstant:
        """The first case's number, with what it is in every case."""
        meaning = _meaning_of_summand(clues, seen)
        span = _span(seen) if meaning is None else None
        return cls(clues[0].name, seen[0], meaning, span, _lanes(clues, seen) if span else None)

    def wording(self) -> Wording:
        """The number, by its meaning if it has one."""
        sentence = f"{self.output} is the right answer plus {self.constant:.4g}, everywhere."
        if self.meaning is not None:
            sentence = f"{self.output} is the right answer plus {self.meaning}, everywhere."
        elif self.span is not None:
            sentence = _changing(self.output, "more than the right answer", self.span)
        if self.lanes is not None:
            each = f"{self.lanes.each:.3g}"
            return Wording(
                f"{sentence} It is {each} for each lane of the last block beyond {self.lanes.size}, with "
                f"blocks of {self.lanes.block}.",
                "What do the lanes hold that do not exist, and is it added to the sum?",
            )
        return Wording(sentence, "Which term of the formula is missing, or appears once too often?")


def _lanes(clues: Sequence[Clue], values: Sequence[float]) -> Lanes | None:
    """The dimension whose padded lanes the number counts in every case, if there is just one."""
    blocks = [
        {
            v
            for launch in clue.outcome.launches
            for v in launch.constexprs.values()
            if type(v) is int and v > 1
        }
        for clue in clues
    ]
    found = []
    for size in sorted(clues[0].outcome.case.sizes):
        for block in sorted(set.intersection(*blocks)):
            lanes = [-clue.outcome.case.sizes.get(size, 0) % block for clue in clues]
            if not all(lanes) or len(set(lanes)) < 2:
                continue
            each = values[0] / lanes[0]
            if all(math.isclose(v, each * n, rel_tol=CLOSE) for v, n in zip(values, lanes, strict=True)):
                found.append(Lanes(size, block, each))
    return found[0] if len(found) == 1 else None


def _changing(output: str, how: str, span: Span) -> str:
    low, high = span
    return (
        f"Within each case, {output} is one number {how}, but that number changes from case to case, from "
        f"{low:.3g} to {high:.3g}."
    )


def _span(values: Sequence[float]) -> Span | None:
    """The smallest and the largest, where they differ."""
    alike = all(math.isclose(v, values[0], rel_tol=CLOSE) for v in values)
    return None if alike else (min(values), max(values))


def _meaning(clues: Sequence[Clue], values: Sequence[float]) -> Meaning | None:
    """A factor that has one name in every case."""
    for symbol, value in CONSTANTS.items():
        if all(math.isclose(v, value, rel_tol=CLOSE) for v in values):
            return Meaning(symbol)
    for meaning, of in _quantities(clues[0]):
        if all(_same(of(clue), v) for clue, v in zip(clues, values, strict=True)):
            return meaning
    return None


def _meaning_of_summand(clues: Sequence[Clue], values: Sequence[float]) -> Meaning | None:
    """A summand that is one logarithm, or 1, in every case."""
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
