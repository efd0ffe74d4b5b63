"""Run a launcher once more on one case, record its values, and put others in their place."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import CodeType

import numpy as np
import torch

from flashlearn.comparing import call, clone_storages
from flashlearn.exercise import Exercise, Inputs
from flashlearn.observe.deadline import deadline
from flashlearn.observe.errors import TimeLimit
from flashlearn.observe.route import observing
from flashlearn.observe.values import Event, Site, Values
from flashlearn.outcome import Outcome, OutputCheck
from flashlearn.tolerance import as_tuple, largest_error


@dataclass
class Replay:
    """One case of one launcher. `until` is when to stop asking, by time.thread_time."""

    exercise: Exercise
    function: Callable
    outcome: Outcome
    until: float
    inputs: Inputs = field(init=False)
    sites: list[Site] = field(default_factory=list)
    compiled: dict[CodeType, CodeType] = field(default_factory=dict)

    def __post_init__(self) -> None:
        case = self.outcome.case
        self.inputs = self.exercise.inputs(case, case.generator())

    @property
    def spent(self) -> bool:
        """True once the time is over."""
        return time.thread_time() > self.until

    def record(self, instead: Mapping[int, np.ndarray] | None = None) -> tuple[list[Event], bool] | None:
        """The events of a call, and whether its outputs are right; None if the call failed or was too large.

        `instead` are arrays to go on with in place of the values of some events.
        """
        if self.spent:
            return None
        given = clone_storages(self.inputs)
        try:
            with observing() as (session, _), deadline(self.exercise.time_limit):
                session.values = values = Values(
                    session, instead or {}, sites=self.sites, compiled=self.compiled
                )
                returned = call(self.exercise, self.function, given)
        except (Exception, TimeLimit, SystemExit):  # whatever a learner's code may raise: nothing is said
            return None
        outputs = as_tuple(returned)
        if values.full or len(outputs) != len(self.outcome.outputs):
            return None
        right = all(_right(check, out) for check, out in zip(self.outcome.outputs, outputs, strict=True))
        return values.events, right


def _right(check: OutputCheck, out: object) -> bool:
    if not isinstance(out, torch.Tensor) or out.shape != check.expected.shape:
        return False
    return largest_error(out.detach(), check.expected) <= check.allowed
