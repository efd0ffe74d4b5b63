"""Run a launcher once more on one case, record its values, and put others in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from flashlearn.exercise import Exercise, Inputs
from flashlearn.interpreter.observers.assigned_values import Event, ValueRecorder
from flashlearn.judging.tolerance import agrees
from flashlearn.outcome import Outcome
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

RUN_WORK = 100
"""What a run costs besides its events, each of which is one unit."""

EVENTS_READ, ELEMENTS_READ = 4, 400
"""So many events, or elements of their arrays, are read for one unit of work."""


@dataclass
class Work:
    """What is left of the work that a search may do: about 0.1 ms a unit, and the same on every machine."""

    left: float


@dataclass
class Replay:
    """One case of one answer. Nothing is run once no `work` is left."""

    exercise: Exercise
    answer: Answer
    outcome: Outcome
    work: Work
    inputs: Inputs = field(init=False)

    def __post_init__(self) -> None:
        case = self.outcome.case
        self.inputs = self.exercise.inputs(case, case.generator())

    def count_reading(self, events: Sequence[Event]) -> None:
        """Count the comparison of all events with the quantities."""
        elements = sum(event.array.size for event in events)
        self.work.left -= len(events) / EVENTS_READ + elements / ELEMENTS_READ

    def record(self, instead: Mapping[int, np.ndarray] | None = None) -> tuple[Sequence[Event], bool] | None:
        """The events of a call, and whether its outputs are right; None if the call failed or was too large.

        `instead` are arrays to go on with in place of the values of some events.
        """
        if self.work.left <= 0:
            return None
        how = Observed(observers=(ValueRecorder(instead or {}),), limit=self.exercise.judged.time_limit)
        evidence = self.answer.run(self.inputs, how)
        values = evidence.observations.get(ValueRecorder)
        self.work.left -= RUN_WORK + (len(values.events) if values is not None else 0)
        if evidence.raised is not None or len(evidence.outputs) != len(self.outcome.outputs):
            return None
        if values is None or values.full:
            return None
        pairs = zip(self.outcome.outputs, evidence.values, strict=True)
        right = all(agrees(check, out) for check, out in pairs)
        return values.events, right
