"""Run a launcher once more on one case, record its values, and put others in their place."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from flashlearn.exercise import Exercise, Inputs
from flashlearn.interpreter.values import Event
from flashlearn.judging.tolerance import largest_error
from flashlearn.outcome import Outcome, OutputCheck
from flashlearn.running.answer import Answer
from flashlearn.running.circumstances import Observed


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
        how = Observed(values=True, instead=instead or {}, limit=self.exercise.judged.time_limit)
        evidence = self.answer.run(self.inputs, how)
        if evidence.raised is not None or evidence.full or len(evidence.outputs) != len(self.outcome.outputs):
            return None
        right = all(
            _right(check, out) for check, out in zip(self.outcome.outputs, evidence.values, strict=True)
        )
        return evidence.events, right


def _right(check: OutputCheck, out: object) -> bool:
    if not isinstance(out, torch.Tensor) or out.shape != check.expected.shape:
        return False
    return largest_error(out, check.expected) <= check.allowed
