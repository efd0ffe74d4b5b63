"""A launcher of this lesson with the edits that make faults of it: waits, phases, bytes, fences."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.variants import Edits, variant
from flashlearn.outcome import Status


class EditedKernel:
    """A correct launcher, the kernels of its file, and by the name of each fault the edits that make it."""

    def __init__(self, launcher: Callable, *kernels: Any, edits: Mapping[str, Edits]):
        self.launcher, self.kernels, self.edits = launcher, kernels, edits

    @functools.cache  # noqa: B019 (one for each exercise, for the length of the process)
    def variant(self, fault: str) -> Callable:
        """The launcher with one fault."""
        return variant(self.launcher, *self.kernels, edits=self.edits[fault])

    def mistake(self, fault: str, sentence: str, next_step: str, status: Status = Status.CRASHED) -> Mistake:
        """A named mistake that ends the run: the launcher with one fault, and what is said about it."""
        return Mistake(sentence, next_step, launcher=self.variant(fault), status=status)
