"""A check on its way, and one step of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flashlearn.exercise import Case, Earlier, Exercise
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.running.answer import Answer

if TYPE_CHECKING:
    from flashlearn.judging.speed import Timing


@dataclass
class Check:
    """A check on its way: what goes in, and what its steps have found so far.

    `watching` is called with each case as it begins, and with None when the search for the mistake does. It
    is `settled` once a step has said what the finding is, or that there is none.
    """

    exercise: Exercise
    answer: Answer
    earlier: Earlier
    watching: Callable[[Case | None], None]
    budgeted: bool
    outcomes: list[Outcome] = field(default_factory=list)
    finding: Finding | None = None
    settled: bool = False
    timing: Timing | None = None
    budgets: Future | None = None
    compiled: Case | None = None

    @property
    def passed(self) -> bool:
        """Whether every case passes, as far as it has been judged."""
        return all(o.status is Status.PASS for o in self.outcomes)


@dataclass(frozen=True)
class Step:
    """One step of a check. Those that measure run after torch has its threads back."""

    description: str
    run: Callable[[Check], None]
    measures: bool = False
