"""NaN or infinity where the right answer is finite."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule, indices
from flashlearn.later import torch
from flashlearn.outcome import Wording

FROM_NAN = (
    "Follow this element backwards: in which line does a NaN or an infinity appear first? A NaN is made by "
    "∞ − ∞, ∞ / ∞, 0 · ∞ or 0 / 0, for instance."
)
FROM_INFINITY = (
    "Follow this element backwards: in which line does a NaN or an infinity appear first, and which lines "
    "turn it into this one? Infinite are a logarithm of 0, for instance, a division by 0, a filler of −inf, "
    "and a number too large for its format."
)


@dataclass(frozen=True)
class NotFinite(Rule):
    """`count` of `total` elements; of those that should be large the `first` is `got`, not `expected`."""

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
        writers = clue.check.writers
        unwritten = writers is not None and bool((writers < 0).reshape(bad.shape)[bad].any())
        if not bad.any() or unwritten:  # what memory held before comes from no operation
            return None
        count, total, first = clue.extent(bad)
        large = bad & (clue.expected.abs() >= 0.1 * clue.expected[bad].abs().max())
        *_, first = clue.extent(large)  # a number that one can compare with
        got, expected = float(clue.check.got[first]), float(clue.expected[first])
        return cls(clue.name, clue.outcome.case.name, count, total, first, got, expected)

    def wording(self) -> Wording:
        """The first element, and operations that make such numbers."""
        return Wording(
            f"In case “{self.case}”, {self.output}[{indices(self.first)}] is {self.got}, but it should be "
            f"{self.expected:.3g}; {self.count} of {self.total} elements are not finite.",
            FROM_NAN if math.isnan(self.got) else FROM_INFINITY,
        )
