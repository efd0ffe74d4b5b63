"""An output that is next to nothing everywhere, where the right one is not."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import SILENT, Clue, Rule, near
from flashlearn.later import torch
from flashlearn.outcome import Wording

FAINT = 1e-3
"""The share of the right answer's largest element that no element of a vanishing output reaches."""


@dataclass(frozen=True)
class Vanishing(Rule):
    """No element of `output` is larger than `largest`, where the right answer reaches `right`."""

    name = "nearly zero everywhere"
    rank = 205
    vague = True

    output: str
    case: str
    largest: float
    right: float

    @classmethod
    def look(cls, clue: Clue) -> Vanishing | object | None:
        """Silent where the right answer is nearly 0 as well."""
        if not clue.finite or not clue.check.got.dtype.is_floating_point:
            return None
        right = float(clue.expected.abs().max()) if clue.expected.numel() else 0.0
        if right <= 4 * clue.check.allowed:
            return SILENT
        largest = float(clue.got.abs().max())
        if not largest or not vanishes(clue) or largest > FAINT * right:
            return None
        return cls(clue.name, clue.outcome.case.name, largest, right)

    def wording(self) -> Wording:
        """How small it is, and what makes a whole output small."""
        return Wording(
            f"{self.output} nearly vanishes: in case “{self.case}” no element is larger than "
            f"{self.largest:.2g}, where the right answer reaches {self.right:.2g}.",
            "Which factor is tiny in every element? Where there is an exponential, what is the largest "
            "number that it is taken of?",
        )


def vanishes(clue: Clue) -> bool:
    """Whether zeros would be as good an account of what came out as any other."""
    return near(clue.got, torch.zeros_like(clue.got), clue.slack)
