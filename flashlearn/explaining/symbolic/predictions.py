"""What each declared mistake gives in a symbolic exercise, output by output, and two mistakes at once.

Two are named together where one formula with the faults of both gives the learner's answer, where each gives
one output's answer in every case, or where both change one output and their joint effect is A · B / R or
A + B − R, with R the right answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import sympy as sp

from flashlearn.exercise import Exercise, combine_faults
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.two_mistakes import AtOnce
from flashlearn.judging.symbolic.cases import by_name, copies
from flashlearn.judging.symbolic.verdict import equal
from flashlearn.outcome import Finding, Outcome

FITTING_SECONDS = 4.0
MOST_SECONDS = 1.0

Way = tuple[str, int]
"""A mistake's name, and which of its formulas."""


@dataclass
class Fits:
    """Which mistakes give the learner's answers, asked once for each output and case.

    A mistake must also give them in the `fresh` cases, which the check does not show: a few integers may
    agree by chance.
    """

    exercise: Exercise
    outcomes: Sequence[Outcome]
    fresh: Sequence[Outcome] = ()
    _given: dict[str, dict[str, Any]] = field(default_factory=dict)
    _values: dict[tuple[Way, str], Any] = field(default_factory=dict)
    _answers: dict[tuple[Way, str, str], bool] = field(default_factory=dict)

    @property
    def everywhere(self) -> Sequence[Outcome]:
        """The cases of the check, and the fresh ones."""
        return (*self.outcomes, *self.fresh)

    @property
    def names(self) -> list[str]:
        """The mistakes that have a formula."""
        return [name for name, mistake in self.exercise.explained.mistakes.items() if mistake.wrong]

    def ways(self, name: str) -> list[Way]:
        """The formulas of a mistake."""
        return [(name, i) for i in range(1 + len(self.exercise.explained.mistakes[name].also))]

    def given(self, outcome: Outcome) -> dict[str, Any]:
        """The case's inputs."""
        name = outcome.case.name
        if name not in self._given:
            self._given[name] = self.exercise.inputs(outcome.case, None)
        return self._given[name]

    def equal(self, value: Any, other: Any, outcome: Outcome) -> bool:
        """Whether two values are equal, in what the case is given."""
        return equal(value, other, self.given(outcome), seconds=FITTING_SECONDS)

    def value(self, way: Way, outcome: Outcome) -> dict[str, Any] | None:
        """The outputs by name that a mistake gives in a case; None where it is not defined."""
        key = (way, outcome.case.name)
        if key not in self._values:
            self._values[key] = self.outputs(self.formula(way), outcome)
        return self._values[key]

    def formula(self, way: Way) -> Callable[..., Any]:
        """The formula of a mistake, or one of its others."""
        mistake = self.exercise.explained.mistakes[way[0]]
        return (mistake.wrong, *mistake.also)[way[1]]

    def outputs(self, formula: Callable[..., Any], outcome: Outcome) -> dict[str, Any] | None:
        """The outputs by name that a formula gives in a case; None where it is not defined."""
        try:
            return by_name(self.exercise, formula(**copies(self.given(outcome))))
        except Exception:  # a mistake need not be defined in every case: then it is not this one
            return None

    def explains(self, formula: Callable[..., Any]) -> bool:
        """Whether a formula gives this very answer, in every output of every case."""
        return all(self._agrees(self.outputs(formula, outcome), outcome) for outcome in self.everywhere)

    def _agrees(self, values: dict[str, Any] | None, outcome: Outcome) -> bool:
        return values is not None and all(
            self.equal(values[check.name], check.got, outcome) for check in outcome.outputs
        )

    def whole(self, name: str) -> bool:
        """Whether the mistake gives this very answer, in every output of every case."""
        return any(
            all(self.output(way, output) for output in self.exercise.outputs) for way in self.ways(name)
        )

    def output(self, way: Way, output: str) -> bool:
        """Whether the mistake gives this output in every case."""
        return all(self._fits(way, output, outcome) for outcome in self.everywhere)

    def _fits(self, way: Way, output: str, outcome: Outcome) -> bool:
        key = (way, output, outcome.case.name)
        if key not in self._answers:
            values = self.value(way, outcome)
            got = next(c.got for c in outcome.outputs if c.name == output)
            self._answers[key] = values is not None and self.equal(values[output], got, outcome)
        return self._answers[key]

    def makers(self, output: str) -> set[str]:
        """The mistakes that give this output in every case, and leave all others right."""
        ways = [way for name in self.names for way in self.ways(name) if self.output(way, output)]
        others = [n for n in self.exercise.outputs if n != output]
        return {way[0] for way in ways if not any(self.differs(way, n) for n in others)}

    def wrong_outputs(self) -> list[str]:
        """The outputs that are wrong in some case."""
        wrong = {check.name for outcome in self.outcomes for check in outcome.outputs if not check.ok}
        return [name for name in self.exercise.outputs if name in wrong]

    def differs(self, way: Way, output: str) -> bool:
        """Whether the mistake makes this output wrong in some case."""
        for outcome in self.outcomes:
            values = self.value(way, outcome)
            expected = next(c.expected for c in outcome.outputs if c.name == output)
            if values is not None and not self.equal(values[output], expected, outcome):
                return True
        return False


def pair(fits: Fits) -> Finding | None:
    """Two declared mistakes at once, if it is one pair and no other."""
    wrong = fits.wrong_outputs()
    found = _in_one_formula(fits) or (
        _each_in_its_output(fits, wrong) if len(wrong) > 1 else _in_one_output(fits, wrong[0])
    )
    if len(found) != 1:
        return None
    count = len(fits.outcomes)
    parts = tuple(declared(fits.exercise, name, count) for name in next(iter(found)))
    return Finding(AtOnce(parts=parts), None, count, count)


def declared(exercise: Exercise, name: str, count: int) -> Finding:
    """The finding that a mistake of the exercise explains all `count` cases."""
    return Finding(Declared.of(name, exercise.explained.mistakes[name]), None, count, count)


def _in_one_formula(fits: Fits) -> set[tuple[str, str]]:
    """Pairs of faults by name of one formula, which with both gives the learner's answer."""
    found = set()
    for one, other in combinations(fits.names, 2):
        both = (
            combine_faults(fits.formula(a), fits.formula(b)) for a in fits.ways(one) for b in fits.ways(other)
        )
        if any(formula is not None and fits.explains(formula) for formula in both):
            found.add((one, other))
    return found


def _each_in_its_output(fits: Fits, wrong: Sequence[str]) -> set[tuple[str, str]]:
    """Pairs: one gives the first wrong output, the other the second; both leave the rest right."""
    if len(wrong) != 2:
        return set()
    first, second = (fits.makers(output) for output in wrong)
    return {(a, b) for a in first for b in second if a != b}


def _in_one_output(fits: Fits, output: str) -> set[tuple[str, str]]:
    """Pairs whose joint effect is the learner's output in every case, and neither's alone."""
    ways = [(name, 0) for name in fits.names if fits.differs((name, 0), output)]
    others = [n for n in fits.exercise.outputs if n != output]
    ways = [way for way in ways if not any(fits.differs(way, n) for n in others)]
    found = set()
    for one, other in combinations(ways, 2):
        if any(
            all(_joint(fits, law, one, other, output, o) for o in fits.everywhere) for law in (_product, _sum)
        ):
            found.add((one[0], other[0]))
    return found


def _joint(fits: Fits, law: Callable, one: Way, other: Way, output: str, outcome: Outcome) -> bool:
    a, b = fits.value(one, outcome), fits.value(other, outcome)
    check = next(c for c in outcome.outputs if c.name == output)
    if a is None or b is None:
        return False
    try:
        both = law(a[output], b[output], check.expected)
    except (TypeError, ValueError, IndexError, ZeroDivisionError):  # shapes that do not fit, no division
        return False
    return equal(both, check.got, fits.given(outcome), seconds=MOST_SECONDS)


def _sum(a: Any, b: Any, right: Any) -> Any:
    return a + b - right


def _product(a: Any, b: Any, right: Any) -> Any:
    if isinstance(right, sp.MatrixBase):
        return sp.Matrix(right.rows, right.cols, lambda i, j: _product(a[i, j], b[i, j], right[i, j]))
    return a * b / right
