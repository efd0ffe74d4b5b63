"""A rule, and what it looks at: one wrong output of one case, and what is known around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from flashlearn.exercise import Exercise, Inputs
from flashlearn.explaining.comparability import is_faint
from flashlearn.outcome import Finding, Outcome, OutputCheck, untyped

SILENT = object()
"""What a rule answers where it could not tell, whether it holds or not: too few numbers, say."""

Facts = dict[str, Any]
Seen = Facts | object | None
"""The facts where a rule holds, None where it does not, or SILENT."""


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

    def close(self, values: torch.Tensor, expected: torch.Tensor | None = None) -> bool:
        """True if `values` are the right answer (or what is given as such), far nearer than the learner's."""
        expected = self.expected if expected is None else expected
        if values.shape != expected.shape or not bool((expected != 0).any()):
            return False
        return near(values, expected, self.slack)


def near(values: torch.Tensor, expected: torch.Tensor, allowed: float) -> bool:
    """True if two tensors are equal, infinities included, up to `allowed`."""
    return bool(((values == expected) | ((values - expected).abs() <= allowed)).all())


def first_of(clues: Sequence[Clue], findings: Sequence[Finding]) -> Finding | None:
    """The finding of the first case, for rules that say the same in each."""
    return findings[0]


@dataclass(frozen=True)
class Rule:
    """A kind of finding, and the look at a wrong output that tells whether it holds there.

    `agree` makes one finding of those of all cases. Only a rule about `form` looks at outputs that cannot be
    compared with what is expected, and at nothing else.
    """

    kind: str
    look: Callable[[Clue], Seen]
    agree: Callable[[Sequence[Clue], Sequence[Finding]], Finding | None] = first_of
    form: bool = False

    def __call__(self, clue: Clue) -> Finding | object | None:
        """The finding for one wrong output; None where the rule does not hold, SILENT if it cannot tell."""
        comparable = clue.check.got is not None and not clue.check.problem
        if not comparable and not self.form:
            return SILENT
        seen = self.look(clue)
        if seen is None and is_faint(clue.check):
            return SILENT  # rounding speaks there, neither for the rule nor against it
        return untyped(self.kind, seen) if isinstance(seen, dict) else seen


def rule(kind: str, **how: Any) -> Callable[[Callable[[Clue], Seen]], Rule]:
    """Declare the decorated look as the rule for findings of a kind."""
    return lambda look: Rule(kind, look, **how)
