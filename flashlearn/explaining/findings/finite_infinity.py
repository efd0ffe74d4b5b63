"""A finite number where the right answer is −∞, and nothing else wrong."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule
from flashlearn.later import torch
from flashlearn.outcome import Wording

SMALLEST = 1e3
"""A number from this size on may stand for infinity."""


@dataclass(frozen=True)
class FiniteInfinity(Rule):
    """`output` is `value`, a large negative number, wherever it should be −∞, and right elsewhere."""

    name = "finite in place of −∞"
    rank = 160
    conclusive = True

    output: str
    value: float

    @classmethod
    def look(cls, clue: Clue) -> FiniteInfinity | None:
        """One and the same number in all elements that should be −∞; these are all that is wrong."""
        infinite = torch.isneginf(clue.expected)
        if not infinite.any() or bool((clue.bad != infinite).any()):
            return None
        value = float(clue.got[infinite][0])
        same = bool((clue.got[infinite] == value).all())
        return cls(clue.name, value) if same and -float("inf") < value <= -SMALLEST else None

    @classmethod
    def agree(cls, clues: list[Clue], seen: list[FiniteInfinity]) -> FiniteInfinity | None:
        """The number must be the same in every case."""
        return seen[0] if len({one.value for one in seen}) == 1 else None

    def wording(self) -> Wording:
        """What stands there, and what to ask."""
        return Wording(
            f"{self.output} is {self.value:g} wherever it should be −∞, and right everywhere else.",
            "Where does this number come from, and what should become of it before the store?",
        )
