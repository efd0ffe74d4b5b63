"""Run a launcher once more on one case, record its values, and put others in their place."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flashlearn.exercise import Exercise, Inputs
from flashlearn.interpreter.observers.assigned_values import Event, ValueRecorder
from flashlearn.judging.tolerance import agrees
from flashlearn.outcome import Outcome
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed


@dataclass
class Replay:
    """One case of one answer. `until` is when to stop asking, by time.thread_time."""

    exercise: Exercise
    answer: Answer
    outcome: Outcome
    until: float
    inputs: Inputs = field(init=False)

    def __post_init__(self) -> None:
        case = self.outcome.case
        self.inputs = self.exercise.inputs(case, case.generator())

    @property
    def spent(self) -> bool:
        """True once the time is over."""
        return time.thread_time() + self.answer.elsewhere > self.until

    def record(self, instead: Mapping[int, np.ndarray] | None = None) -> tuple[Sequence[Event], bool] | None:
        """The events of a call, and whether its outputs are right; None if the call failed or was too large.

        `instead` are arrays to go on with in place of the values of some events.
        """
        if self.spent:
            return None
        how = Observed(observers=(ValueRecorder(instead or {}),), limit=self.exercise.judged.time_limit)
        evidence = self.answer.run(self.inputs, how)
        if evidence.raised is not None or len(evidence.outputs) != len(self.outcome.outputs):
            return None
        values = evidence.observations[ValueRecorder]
        if values.full:
            return None
        pairs = zip(self.outcome.outputs, evidence.values, strict=True)
        right = all(agrees(check, out) for check, out in pairs)
        return values.events, right
