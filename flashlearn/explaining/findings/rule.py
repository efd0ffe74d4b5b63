"""Rules: kinds of findings that are seen in the numbers of a wrong output, whatever the exercise.

A rule looks at a `Clue`: one wrong output of one case, and what is known about it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from flashlearn.exercise import Exercise, Inputs
from flashlearn.explaining.matching import is_faint
from flashlearn.later import torch
from flashlearn.outcome import FindingKind, Outcome, OutputCheck

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

    @cached_property
    def heads(self) -> int:
        """How many of the output's first dimensions count batches and heads: 2, or 0 where there are none."""
        sizes = self.outcome.case.sizes
        head = tuple(self.expected.shape[:2])
        known = any((sizes.get("B"), sizes.get(name)) == head for name in ("H", "H_k"))
        return 2 if known and self.expected.ndim > 2 else 0

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


class Rule(FindingKind):
    """A kind of finding for mistakes that no exercise declares.

    A rule looks at one wrong output at a time. It holds if it holds in every case in which the output came
    out wrong and in which it can tell; then one finding is made of what was seen in all of them.
    """

    rank: ClassVar[int]
    """Rules are asked by rank, the lowest first: the surest of those that name what was done, and after the
    experiments the `vague` ones. Ranks are multiples of 10, so that there is room between two of them."""

    @classmethod
    def look(cls, clue: Clue) -> Any:
        """What is seen in one wrong output; None where the rule does not hold, SILENT if it cannot tell."""
        raise NotImplementedError

    @classmethod
    def agree(cls, clues: Sequence[Clue], seen: Sequence[Any]) -> FindingKind | None:
        """One finding of what was seen in each case: the first case's, unless a rule needs all of them."""
        return seen[0]

    @classmethod
    def ask(cls, clue: Clue) -> Any:
        """What `look` sees, where there are numbers to look at.

        Only a rule `about_form` looks at outputs that cannot be compared with what is expected, and at
        nothing else.
        """
        comparable = clue.check.got is not None and not clue.check.problem
        if not comparable and not cls.about_form:
            return SILENT
        seen = cls.look(clue) if comparable is not cls.about_form else None
        if seen is None and is_faint(clue.check):
            return SILENT  # the error may be rounding, which is neither for the rule nor against it
        return seen


def listed_words(parts: Sequence[str]) -> str:
    """Several words or statements as one: "dq, dk and dv"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def joined(*sentences: str) -> str:
    """Sentences as one text; empty ones are left out."""
    return " ".join(filter(None, sentences))


def labelled(*steps: tuple[str, str]) -> str:
    """Next steps, each after what it is about, a label and its text; only one needs no label.

    >>> labelled(("1", "Which stride is it?"), ("2", "Where does alpha enter?"))
    '(1) Which stride is it? (2) Where does alpha enter?'
    """
    by_step: dict[str, list[str]] = {}
    for label, step in steps:
        if step and label not in by_step.setdefault(step, []):
            by_step[step].append(label)
    by_step.pop("", None)
    if len(by_step) == 1:
        return next(iter(by_step))
    labels = {step: ", ".join(filter(None, about)) for step, about in by_step.items()}
    return joined(*(f"({about}) {step}" if about else step for step, about in labels.items()))


def indices(index: tuple[int, ...]) -> str:
    """An index as it is written between brackets."""
    return ", ".join(map(str, index))


def first_of(numbers: tuple[int, ...], most: int) -> str:
    """The numbers, or as many of them as are worth reading."""
    return ", ".join(map(str, numbers[:most])) + (" …" if len(numbers) > most else "")
