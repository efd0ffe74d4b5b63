"""NaN or infinity where the right answer is finite."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from flashlearn.explaining.findings.rule import Clue, Rule, indices
from flashlearn.outcome import Wording

UNWRITTEN = "or memory that is read before it is written"
FROM_NAN = (
    f"A NaN comes from ∞ − ∞, 0 · ∞, ∞/∞, 0/0, a logarithm or a root of a negative number, {UNWRITTEN}: "
    "which of these is it here?"
)
FROM_INFINITY = (
    "An infinity comes from a number that is too large for its format, as an exponential may be, a division "
    f"by 0, a logarithm of 0, {UNWRITTEN}: which of these is it here?"
)


@dataclass(frozen=True)
class NotFinite(Rule):
    """`count` of `total` elements; the `first`, by its index, is `got` where `expected` is right."""

    name = "not finite"
    rank = 210
    vague = locates = True

    output: str
    case: str
    count: int
    total: int
    first: tuple[int, ...]
    got: float
    expected: float

    @classmethod
    def look(cls, clue: Clue) -> NotFinite | None:
        """The elements that are not finite and should be."""
        bad = ~torch.isfinite(clue.got) & torch.isfinite(clue.expected)
        if not bad.any():
            return None
        count, total, first = clue.extent(bad)
        got, expected = float(clue.check.got[first]), float(clue.expected[first])
        return cls(clue.name, clue.outcome.case.name, count, total, first, got, expected)

    def wording(self) -> Wording:
        """The first element, and operations that make such numbers."""
        return Wording(
            f"In case {self.case}, {self.output}[{indices(self.first)}] is {self.got}, but should be "
            f"{self.expected:.3g}; {self.count} of {self.total} elements are not finite.",
            FROM_NAN if math.isnan(self.got) else FROM_INFINITY,
        )
