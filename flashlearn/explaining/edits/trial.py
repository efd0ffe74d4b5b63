"""What a search asks of a trial, whether its cases are decided by tensors or by symbols."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from flashlearn.explaining.edits.edit import Edit
from flashlearn.outcome import Outcome


class Trial(Protocol):
    """The wrong cases of an answer, and whether they are right with an edited section.

    `bad` are the outputs that are wrong in some case, `left` is the work that may still be done. `fixed` are
    sections with new texts, by number, that every run uses. `reached` is the number of wrong cases, in their
    order, that were right with the last text. It was `superfluous` if a case that passes anyway took more
    accesses to memory with it, and `wasteful` if clearly more.
    """

    wrong: Sequence[Outcome]
    bad: set[str]
    left: float
    reached: int
    superfluous: bool
    wasteful: bool
    fixed: tuple[tuple[int, str], ...]

    def by_chance(self, edit: Edit) -> bool:
        """True for an edit that may repair a single case by chance."""

    def repaired(self, section: int, text: str) -> set[str]:
        """The outputs that are right in every case with this text in place of that section."""

    def accesses(self, section: int, text: str, outcome: Outcome) -> int | None:
        """How many accesses a case takes with this text in place of that section; None if it ends early."""

    def echoes(self) -> bool:
        """Whether the last text left in the first wrong case what a known mistake gives there."""

    def generalises(self, section: int, text: str, outputs: Iterable[str]) -> bool:
        """Whether these outputs are right on cases that the exercise does not have and in all that passed."""

    def passing(self, section: int, text: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Those of the outcomes that are right with this text in place of that section."""


def cost(outcome: Outcome) -> float:
    """The accesses to memory in a case; in a Gluon kernel also the events of its partitions, which take as
    long.
    """
    seen = outcome.observation
    return float(seen.accesses + len(seen.timeline)) if seen is not None else 0.0
