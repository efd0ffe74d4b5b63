"""Some heads right as a whole, others wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, first_of
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
    def look(cls, clue: Clue) -> SomeHeads | object | None:
        """The wrong heads, if not all are wrong; silent where the others are to be 0."""
        bad, heads = clue.bad, math.prod(clue.expected.shape[: clue.heads])
        if heads < 2:
            return None
        wrong = bad.reshape(heads, -1).any(1)
        telling = (clue.expected != 0).reshape(heads, -1).any(1)
        if bool(wrong[telling].all()):  # the others, if there are any, have nothing that could be wrong
            return None if bool(wrong.all()) else SILENT
        which = tuple(int(i) for i in wrong.nonzero().flatten())
        return cls(clue.name, clue.outcome.case.name, heads, which)

    def wording(self) -> Wording:
        """Which heads, and what differs between heads."""
        right, which = self.heads - len(self.wrong), first_of(self.wrong, 8)
        wrong = f"heads {which} are wrong" if len(self.wrong) > 1 else f"head {which} is wrong"
        return Wording(
            f"{right} of {self.heads} heads of {self.output} {'are' if right > 1 else 'is'} entirely right; "
            f"{wrong}, batch and head counted as one number (case {self.case}).",
            "What does the kernel compute from batch and head, and for which heads is each of these numbers "
            "right?",
        )
