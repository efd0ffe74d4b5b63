"""Some elements right, and the others a whole multiple of the right number."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule, near
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class WrittenTwice(Rule):
    """`count` of `total` elements hold `times` the right number, the `first` by its index."""

    name = "written twice"
    rank = 130
    conclusive = True

    output: str
    case: str
    count: int
    total: int
    times: float
    first: tuple[int, ...]

    @classmethod
    def look(cls, clue: Clue) -> WrittenTwice | None:
        """The same share was added again."""
        bad = clue.bad & (clue.expected.abs() > 4 * clue.check.allowed)
        if int(bad.sum()) < 4 or bool((clue.bad & ~bad).any()) or not bool((~clue.bad).any()):
            return None
        times = float((clue.got[bad] / clue.expected[bad]).median().round())
        near_it = 2 <= times < math.inf and near(
            clue.got[bad], times * clue.expected[bad], times * clue.slack
        )
        if not near_it:
            return None
        count, total, first = clue.extent(bad)
        return cls(clue.name, clue.outcome.case.name, count, total, times, first)

    def wording(self) -> Wording:
        """How many elements, and how often."""
        return Wording(
            f"{self.count} of {self.total} elements of {self.output} hold {self.times:.0f} times the right "
            f"number in case {self.case}, the first at {list(self.first)}; the others are right. The same "
            f"share was added {self.times:.0f} times there.",
            "Which programs, or which steps of the loop, add to this element?",
        )
