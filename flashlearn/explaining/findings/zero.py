"""Nothing but zeros, where the right numbers are others."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class Zero(Rule):
    """Every element of `output` is 0."""

    name = "zero everywhere"
    rank = 50

    output: str

    @classmethod
    def look(cls, clue: Clue) -> Zero | object | None:
        """Silent where the right answer is 0 as well."""
        if clue.exercise.explained.explain is not None:
            return None  # such an exercise explains itself what a 0 means
        if not bool(clue.expected.any()):
            return SILENT
        return cls(clue.name) if not bool(clue.got.any()) else None

    def wording(self) -> Wording:
        """Where to look for the line that should add to it."""
        return Wording(
            f"Every element of {self.output} is 0.",
            "Follow it back from the store: where does it start at 0, and which line should add to it?",
        )
