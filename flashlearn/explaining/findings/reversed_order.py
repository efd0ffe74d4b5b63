"""The right rows, columns or elements in reverse order."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class ReversedOrder(Rule):
    """`what` ("row", "column" or "element") i of `output` holds number n − 1 − i."""

    name = "reversed order"
    rank = 125

    output: str
    what: str

    @classmethod
    def look(cls, clue: Clue) -> ReversedOrder | object | None:
        """Right once reversed along one of the last two dimensions; silent where these have size 1."""
        got = clue.got
        axes = [axis for axis in range(max(0, got.ndim - 2), got.ndim) if got.shape[axis] > 1]
        for axis in axes:
            if clue.close(got.flip(axis)):
                what = "element" if got.ndim == 1 else "column" if axis == got.ndim - 1 else "row"
                return cls(clue.name, what)
        return None if axes else SILENT

    def wording(self) -> Wording:
        """Which one is where."""
        return Wording(
            f"{self.output} holds the right {self.what}s in reverse order: {self.what} 0 holds the last one.",
            "Which index counts down, in a load or in the store?",
        )
