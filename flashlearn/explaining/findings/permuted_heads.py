"""Every head holds the right numbers of some head, but not of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule, near
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class PermutedHeads(Rule):
    """`owners[i]` is the head whose right numbers head i of `output` holds in `case`."""

    name = "permuted heads"
    rank = 110

    output: str
    owners: tuple[int, ...]
    case: str

    @classmethod
    def look(cls, clue: Clue) -> PermutedHeads | None:
        """The owner of every head, if each has one."""
        heads = math.prod(clue.got.shape[: clue.heads])
        if heads < 2:
            return None
        mine, right = clue.got.reshape(heads, -1), clue.expected.reshape(heads, -1)
        owners = [
            next((i for i, numbers in enumerate(right) if near(head, numbers, clue.slack)), None)
            for head in mine
        ]
        if None in owners or owners == list(range(heads)):
            return None
        return cls(clue.name, tuple(owners), clue.outcome.case.name)

    def wording(self) -> Wording:
        """Whose numbers each head holds, or the one head that all hold."""
        owners, last = self.owners, len(self.owners) - 1
        if len(set(owners)) == 1:
            sentence = f"Every head of {self.output} holds the numbers of head {owners[0]}"
        elif len(set(owners)) == len(owners):
            sentence = (
                f"The heads of {self.output} are in another order: heads 0 to {last} hold the numbers of "
                "heads "
                f"{', '.join(map(str, owners))}"
            )
        else:
            sentence = (
                f"Heads 0 to {last} of {self.output} hold the numbers of heads "
                f"{', '.join(map(str, owners))}: "
                "some are there more than once, others are missing"
            )
        step = "How is each head's place in memory computed from the batch and the head?"
        return Wording(f"{sentence} (case {self.case}, batch and head counted as one number).", step)
