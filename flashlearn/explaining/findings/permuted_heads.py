"""Every head holds the right numbers of some head, but not of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from flashlearn.explaining.findings.rule import Clue, Rule, near
from flashlearn.outcome import Wording


@dataclass(frozen=True)
class PermutedHeads(Rule):
    """`owners[i]` is the head whose right numbers head i of `output` holds."""

    name = "permuted heads"
    rank = 110
    conclusive = True

    output: str
    owners: tuple[int, ...]

    @classmethod
    def look(cls, clue: Clue) -> PermutedHeads | None:
        """The owner of every head, if each has one."""
        shape = clue.got.shape
        blocks = len(shape) - 2 if len(shape) > 3 else len(shape) - 1 if len(shape) == 3 else 0
        heads = math.prod(shape[: max(blocks, 1)]) if len(shape) > 2 else 1
        if heads < 2:
            return None
        mine, right = clue.got.reshape(heads, -1), clue.expected.reshape(heads, -1)
        owners = [
            next((i for i, numbers in enumerate(right) if near(head, numbers, clue.slack)), None)
            for head in mine
        ]
        if None in owners or owners == list(range(heads)):
            return None
        return cls(clue.name, tuple(owners))

    def wording(self) -> Wording:
        """The order of the heads, or the one head that all hold."""
        owners = self.owners
        if len(set(owners)) == 1:
            sentence = f"Every head of {self.output} holds the numbers of head {owners[0]} of {len(owners)}."
        else:
            sentence = (
                f"The heads of {self.output} are in another order: head 0 to {len(owners) - 1} hold "
                f"{list(owners)}."
            )
        step = "How does the kernel get from its program id to batch and head, and with which strides?"
        return Wording(sentence, step)
