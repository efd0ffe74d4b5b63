"""An output that holds another output's right numbers."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from flashlearn.explaining.findings.rule import Clue, Rule
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class OutputsExchanged(Rule):
    """`output` holds the numbers of `other`; `outputs` are all of them in their order."""

    name = "outputs exchanged"
    rank = 40
    conclusive = True

    output: str
    other: str
    outputs: tuple[str, ...]

    @classmethod
    def look(cls, clue: Clue) -> OutputsExchanged | None:
        """Another wrong output whose right numbers these are."""
        for other in clue.outcome.outputs:
            if other.name == clue.name or other.ok or not isinstance(other.expected, torch.Tensor):
                continue
            if clue.close(clue.got, other.expected.double()):
                return cls(clue.name, other.name, clue.exercise.outputs)
        return None

    def wording(self) -> Wording:
        """Whose numbers they are."""
        return Wording(
            f"{self.output} contains the values that should be in {self.other}.",
            f"Return {', '.join(self.outputs)} in this order; look at the stores, too.",
        )
