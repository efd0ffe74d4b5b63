"""The right numbers with the opposite sign."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class Sign(Rule):
    """`output` is minus the right answer."""

    name = "sign"
    rank = 60
    conclusive = True

    output: str

    @classmethod
    def look(cls, clue: Clue) -> Sign | None:
        """Right once negated."""
        return cls(clue.name) if clue.close(-clue.got) else None

    def wording(self) -> Wording:
        """Where a minus may be missing."""
        return Wording(
            f"{self.output} has the right size and the opposite sign.",
            "Where does the formula have a minus? Follow it from the loads to the store.",
        )
