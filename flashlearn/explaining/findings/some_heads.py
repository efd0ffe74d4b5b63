"""Some heads right as a whole, others wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule, first_of
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class SomeHeads(Rule):
    """`wrong` are the numbers of the wrong heads, of `heads`; batch and head count as one number."""

    name = "some heads"
    rank = 230
    vague = locates = True

    output: str
    case: str
    heads: int
    wrong: tuple[int, ...]

    @classmethod
    def look(cls, clue: Clue) -> SomeHeads | None:
        """The wrong heads, if not all are wrong."""
        bad = clue.bad
        if bad.ndim < 3:
            return None
        blocks = bad.ndim - 2 if bad.ndim > 3 else 1
        heads = math.prod(bad.shape[:blocks])
        if heads < 2:
            return None
        wrong = bad.reshape(heads, -1).any(1)
        if wrong.all():
            return None
        which = tuple(int(i) for i in wrong.nonzero().flatten())
        return cls(clue.name, clue.outcome.case.name, heads, which)

    def wording(self) -> Wording:
        """Which heads, and what differs between heads."""
        return Wording(
            f"{self.heads - len(self.wrong)} of {self.heads} heads of {self.output} are right as a whole; "
            f"wrong are {first_of(self.wrong, 8)}, batch and head counted as one number (case {self.case}).",
            "What differs from head to head is the offset: which strides does each pointer take for it?",
        )
