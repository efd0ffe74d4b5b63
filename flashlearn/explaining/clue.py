"""What a rule looks at: one wrong output of one case, and what is known about it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import torch

from flashlearn.exercise import Exercise, Inputs
from flashlearn.outcome import Outcome, OutputCheck

SILENT = object()
"""What a rule answers where it could not tell, whether it holds or not: too few numbers, say."""


@dataclass(frozen=True)
class Clue:
    """A wrong output. Rules read it; nothing is computed before it is asked for."""

    exercise: Exercise
    outcome: Outcome
    check: OutputCheck

    @property
    def name(self) -> str:
        """The output's name."""
        return self.check.name

    @cached_property
    def inputs(self) -> Inputs:
        """The case's inputs, drawn anew."""
        return self.exercise.inputs(self.outcome.case, self.outcome.case.generator())

    @cached_property
    def got(self) -> torch.Tensor:
        """The learner's numbers, in fp64."""
        return self.check.got.double()

    @cached_property
    def expected(self) -> torch.Tensor:
        """The right numbers, in fp64."""
        return self.check.expected.double()

    @cached_property
    def bad(self) -> torch.Tensor:
        """Which elements are wrong by more than is allowed."""
        same = (self.got == self.expected) | (torch.isnan(self.got) & torch.isnan(self.expected))
        return ~(same | ((self.got - self.expected).abs() <= self.check.allowed))

    @cached_property
    def finite(self) -> bool:
        """True if every number of both is finite."""
        return bool(torch.isfinite(self.got).all() and torch.isfinite(self.expected).all())

    @cached_property
    def slack(self) -> float:
        """How far an explanation may miss: twice what is allowed, and a tenth of what the truth misses."""
        error = self.check.error
        return min(2 * self.check.allowed, 0.1 * error) if math.isfinite(error) else 2 * self.check.allowed

    def extent(self, which: torch.Tensor) -> tuple[int, int, tuple[int, ...]]:
        """How many elements (or rows) a mask marks, of how many, and the index of the first."""
        return int(which.sum()), which.numel(), tuple(int(i) for i in which.nonzero()[0])

    def close(self, values: torch.Tensor, expected: torch.Tensor | None = None) -> bool:
        """True if `values` are the right answer (or what is given as such), far nearer than the learner's."""
        expected = self.expected if expected is None else expected
        if values.shape != expected.shape or not bool((expected != 0).any()):
            return False
        return near(values, expected, self.slack)


def near(values: torch.Tensor, expected: torch.Tensor, allowed: float) -> bool:
    """True if two tensors are equal, infinities included, up to `allowed`."""
    return bool(((values == expected) | ((values - expected).abs() <= allowed)).all())
