"""Elements that no program stores, all others right."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule, indices
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class NeverWritten(Rule):
    """`count` of `total` elements, the `first` by its index."""

    name = "never written"
    rank = 20
    misplaced = "stores"

    output: str
    case: str
    count: int
    total: int
    first: tuple[int, ...]

    @classmethod
    def look(cls, clue: Clue) -> NeverWritten | None:
        """Unwritten elements that hold what memory held before; torch's own numbers would all be finite."""
        if clue.check.writers is None:
            return None
        unwritten = clue.check.writers < 0
        if not unwritten.any() or (clue.bad & ~unwritten).any():
            return None
        held = clue.check.got[unwritten.reshape(clue.check.got.shape)]
        if bool(held.isfinite().any()) and not bool((held == held[0]).all()):
            return None
        return cls(clue.name, clue.outcome.case.name, *clue.extent(unwritten))

    def wording(self) -> Wording:
        """The first element and how many there are."""
        return Wording(
            f"No program writes {self.output}[{indices(self.first)}] in case {self.case}: {self.count} of "
            f"{self.total} elements keep what torch.empty held.",
            "Do the grid and the mask of the store cover the whole output?",
        )
