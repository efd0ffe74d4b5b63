"""The right matrix with rows and columns exchanged."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class Transposed(Rule):
    """`output` is the transpose of the right answer."""

    name = "transposed"
    rank = 70
    conclusive = True

    output: str

    @classmethod
    def look(cls, clue: Clue) -> Transposed | object | None:
        """Right once transposed; silent for vectors and single rows, which look the same either way."""
        got = clue.got
        if got.ndim < 2 or got.shape[-1] < 2 or got.shape[-2] < 2:
            return SILENT
        if got.shape[-1] != got.shape[-2]:
            return None
        return cls(clue.name) if clue.close(got.transpose(-1, -2)) else None

    def wording(self) -> Wording:
        """Which index counts rows."""
        return Wording(
            f"{self.output} is the transpose of the right answer.",
            "Which of the two indices counts rows? Compare the last product and the store with the formula.",
        )
