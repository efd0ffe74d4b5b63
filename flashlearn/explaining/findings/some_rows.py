"""Whole rows wrong and whole rows right."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, indices
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class SomeRows(Rule):
    """`count` of `total` rows are wrong, the `first` by its index."""

    name = "some rows"
    rank = 260
    vague = locates = True

    output: str
    case: str
    count: int
    total: int
    first: tuple[int, ...]

    @classmethod
    def look(cls, clue: Clue) -> SomeRows | object | None:
        """The wrong rows, if there are right ones; silent for a single row."""
        bad = clue.bad
        if bad.ndim < 2 or bad.shape[-2] < 2:
            return SILENT if bad.ndim >= 2 else None
        rows = bad.any(dim=-1)
        if not rows.any():  # no element may be too far off, and all of them together
            return None
        if bool(rows[(clue.expected != 0).any(dim=-1)].all()):  # the others have nothing that could be wrong
            return None
        return cls(clue.name, clue.outcome.case.name, *clue.extent(rows))

    def wording(self) -> Wording:
        """How many rows, and the first."""
        return Wording(
            f"{self.count} of {self.total} rows of {self.output} {'is' if self.count == 1 else 'are'} wrong "
            f"in case “{self.case}”; the first is "
            f"{self.output}[{indices(self.first)}].",
            "Which of the values that the first wrong row is made of differs first from the formula's?",
        )
