"""The right rows or columns, some places further on."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule, near
from flashlearn.outcome import Wording

SHIFTS = (1, -1, 16, -16, 32, -32, 64, -64, 128, -128)


@dataclass(frozen=True)
class Shifted(Rule):
    """`what` ("row", "column" or "element") i of `output` holds number i − `by`."""

    name = "shifted"
    rank = 120

    output: str
    what: str
    by: int

    @classmethod
    def look(cls, clue: Clue) -> Shifted | None:
        """The first shift along the last two dimensions that makes the rest right."""
        got, expected = clue.got, clue.expected
        for axis in range(max(0, got.ndim - 2), got.ndim):
            length = got.shape[axis]
            for by in SHIFTS:
                left = length - abs(by)
                if left < 2 or left < length / 2:
                    continue
                moved = got.narrow(axis, max(by, 0), left)
                source = expected.narrow(axis, max(-by, 0), left)
                if bool((source != source.flatten()[0]).any()) and near(moved, source, clue.slack):
                    what = "element" if got.ndim == 1 else "column" if axis == got.ndim - 1 else "row"
                    return cls(clue.name, what, by)
        return None

    def wording(self) -> Wording:
        """Which one is where."""
        origin = f"i − {self.by}" if self.by > 0 else f"i + {-self.by}"
        return Wording(
            f"{self.output} holds the right {self.what}s in the wrong place: {self.what} i holds {origin}.",
            "Compare the indices of the loads with those of the store.",
        )
