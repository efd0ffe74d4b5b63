"""A stage of the search for a mistake, what it is given, and what runs the stages one after the other.

Every stage may fail, and its failure must not take the verdict with it:

    >>> attempted(exercise, "weights", find_in_weights, exercise, wrong, answer)

A stage that raises says nothing, as one that finds nothing; what it raised goes to the log `LOG`, with the
exercise and the stage. Nobody reads that log unless asked: the course keeps its last entries in a file.
"""

from __future__ import annotations

import enum
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, TypeVar

from flashlearn.exercise import Exercise
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.running.answer import Answer

P = ParamSpec("P")
Result = TypeVar("Result")

LOG = logging.getLogger("flashlearn.explaining")
LOG.addHandler(logging.NullHandler())
LOG.propagate = False  # a learner who configures logging asked for messages of their own


@dataclass(frozen=True)
class Search:
    """What is to be explained, and the finding so far.

    `answer` is the learner's, if it can be run again. Without `pairs` two mistakes in the same numbers are
    not looked for, which takes longest. `repairs` collects the edits that repair a part of what is wrong.
    """

    exercise: Exercise
    outcomes: list[Outcome]
    answer: Answer | None = None
    finding: Finding | None = None
    pairs: bool = True
    repairs: list[Any] = field(default_factory=list)

    @property
    def wrong(self) -> list[Outcome]:
        """The cases with wrong numbers."""
        return [o for o in self.outcomes if o.status is Status.WRONG]


class Role(enum.Enum):
    """When a stage is asked, and what its finding means."""

    PROOF = "proof"
    """While nothing has been found; what it finds ends the search, but for stages asked `after_proof`."""

    NAME = "name"
    """While nothing has been found; later stages may add to what it finds, or replace it."""

    REFINEMENT = "refinement"
    """Always, with what has been found so far, if anything; what it finds takes the place of that."""


@dataclass(frozen=True)
class Stage:
    """One stage of the search.

    `description` is its line on the page docs/how-a-mistake-is-named.md. `find` has a finding, or None where
    nothing is sure. One that `reruns` the answer is passed over where there is none. `budget` says how much
    it may take; without one it runs each case a fixed number of times.
    """

    name: str
    description: str
    find: Callable[[Search], Finding | None]
    role: Role = Role.NAME
    reruns: bool = True
    budget: str = ""
    after_proof: bool = False
    """It is asked after a proof as well."""


def run(line: Sequence[Stage], search: Search) -> Finding | None:
    """What the stages find, in their order; one that raises counts as one that finds nothing."""
    proven = False
    for stage in line:
        if (stage.reruns and search.answer is None) or (proven and not stage.after_proof):
            continue
        if search.finding is not None and stage.role is not Role.REFINEMENT:
            continue
        found = attempted(search.exercise, stage.name, stage.find, search)
        if found is not None:
            search = replace(search, finding=found)
            proven |= stage.role is Role.PROOF
    return search.finding


def attempted(
    exercise: Exercise,
    stage: str,
    look: Callable[P, Result],
    *arguments: P.args,
    **named: P.kwargs,
) -> Result | None:
    """What `look` returns, or None if it raises anything but what is meant to end a check.

    It may run the learner's function again, edited or not: warnings there are suppressed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return look(*arguments, **named)
    except Exception:
        log_failure(exercise, stage)
        return None


def log_failure(exercise: Exercise, stage: str) -> None:
    """Note the exception that is being handled."""
    about = {"exercise": exercise.name, "stage": stage}
    LOG.warning("%s failed while explaining %s", stage, exercise.name, exc_info=True, extra=about)


def worst_status(outcomes: list[Outcome]) -> Status:
    """The first status that applies to any case."""
    order = list(Status)
    return min((o.status for o in outcomes), key=order.index)
