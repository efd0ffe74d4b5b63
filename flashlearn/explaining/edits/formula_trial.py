"""Whether an edited formula, written with sympy or in integers, gives right answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import sympy as sp

from flashlearn.exercise import Case, Exercise
from flashlearn.explaining.edits.edit import Edit
from flashlearn.judging.symbolic.cases import arguments, by_name, copies
from flashlearn.judging.symbolic.quick_refusal import QuickRefusal
from flashlearn.judging.symbolic.symbols import flatten, symbols
from flashlearn.judging.symbolic.verdict import equal
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Edited

FORMULA_RUNS = 1_000
"""The number of runs of edited formulas in one search."""

RIGHT_CASES = 6
"""So many cases that are right already must remain so before the others are asked."""

SYMBOLIC_SECONDS = 1.5
CALL_SECONDS = 1.0

MOST_TURNS = 1_000
"""So many turns of its loops an edited formula may take."""

TURNS_OF_A_RUN = 40
"""So many turns cost as much as a run of an ordinary formula."""

QUICK_SECONDS, SECONDS_OF_A_RUN = 0.02, 0.002
"""A run that takes longer than the first, in a sum of sympy's say, counts as one for each of the second."""


class Known(NamedTuple):
    """What is known of a case: the arguments, the right answers, and one point that refuses others."""

    given: dict[str, Any]
    wanted: dict[str, Any]
    quick: QuickRefusal


class FormulaTrial:
    """A trial whose cases are decided by symbols, which no edit meets by chance, or by integers.

    In a formula of integers a case is one point, which an edit may meet by chance: there it must also be
    right in the cases that the exercise keeps for this (`HowExplained.fresh`).
    """

    def __init__(self, exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome]):
        self.exercise, self.answer, self.left = exercise, answer, float(FORMULA_RUNS)
        self.reached = 0
        self.superfluous = self.wasteful = False
        self.fixed: tuple[tuple[int, str], ...] = ()
        self.wrong = [o for o in outcomes if o.status in (Status.WRONG, Status.CRASHED)]
        passing = [o for o in outcomes if o.status is Status.PASS]
        self.right, self.others = passing[:RIGHT_CASES], passing[RIGHT_CASES:]
        crashed = any(not o.outputs for o in self.wrong)
        wrong = {c.name for o in self.wrong for c in o.outputs if not c.ok}
        self.bad = set(exercise.outputs) if crashed else wrong
        self._known: dict[str, Known] = {}
        self.symbolic = any(symbols(flatten([*self._of(o.case).given.values()])) for o in self.wrong)
        self._answers: dict[tuple, bool] = {}

    def by_chance(self, edit: Edit) -> bool:
        """True for an edit that may repair a single case by chance."""
        if self.exercise.explained.fresh or self.symbolic:
            return False
        return edit.kind.by_chance or edit.kind.by_chance_in_integers

    def accesses(self, section: int, text: str, outcome: Outcome) -> int | None:
        """A formula takes none."""

    def echoes(self) -> bool:
        """Never: a formula's declared mistakes are tried in pairs."""
        return False

    def generalises(self, section: int, text: str, outputs: Iterable[str]) -> bool:
        """Whether these outputs are right at other numbers, for which symbols stand, and in every case."""
        cases = (*self.exercise.explained.fresh, *(o.case for o in self.others))
        left = self.left  # only few edits come so far: what a search may take is meant for the others
        held = all(self._right_outputs(section, text, case) >= {*outputs} for case in cases)
        self.left = left
        return held

    def passing(self, section: int, text: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Those of the outcomes that are right with this text in place of that section."""
        names = {*self.exercise.outputs}
        return [o for o in outcomes if names <= self._right_outputs(section, text, o.case)]

    def repaired(self, section: int, text: str) -> set[str]:
        """The outputs that are right in every case with this text in place of that section."""
        good, self.reached = set(self.bad), 0
        for number, outcome in enumerate((*self.wrong, *self.right)):
            right = self._right_outputs(section, text, outcome.case)
            good &= right if set(self.exercise.outputs) - self.bad <= right else set()
            if not good:
                break
            self.reached = min(number + 1, len(self.wrong)) if good == self.bad else self.reached
        return good

    def _right_outputs(self, section: int, text: str, case: Case) -> set[str]:
        others = tuple(one for one in self.fixed if one[0] != section)
        known = self._of(case)
        how = Edited(section, text, more=others, limit=CALL_SECONDS, turns=MOST_TURNS)
        evidence = self.answer.run(copies(known.given), how)
        self.left -= _runs(evidence)
        if evidence.raised is not None:
            return set()
        answers = by_name(self.exercise, evidence.returned) or {}
        possible = {n for n, got in answers.items() if not self._refused(case, n, got)}
        if not possible & self.bad:
            return set()  # which of the others are right no longer matters
        return {name for name in possible if self._right(case, name, answers[name])}

    def _refused(self, case: Case, name: str, got: Any) -> bool:
        return self._once(("refused", case.name, name), got, lambda: self._of(case).quick.differs(name, got))

    def _right(self, case: Case, name: str, got: Any) -> bool:
        known = self._of(case)
        return self._once(
            ("right", case.name, name),
            got,
            lambda: equal(known.wanted[name], got, known.given, seconds=SYMBOLIC_SECONDS),
        )

    def _once(self, what: tuple, got: Any, ask: Callable[[], bool]) -> bool:
        """The answer to a question about a value, asked once: most edits change one output of several."""
        got = got.as_immutable() if isinstance(got, sp.MatrixBase) else got
        try:
            key = (what, got)
            if key not in self._answers:
                self._answers[key] = ask()
            return self._answers[key]
        except TypeError:  # a list, say, which cannot be a key
            return ask()

    def _of(self, case: Case) -> Known:
        if case.name not in self._known:
            given = arguments(self.exercise, case)
            wanted = by_name(self.exercise, self.exercise.reference(**copies(given)))
            self._known[case.name] = Known(given, wanted, QuickRefusal(wanted, given))
        return self._known[case.name]


def _runs(evidence: Evidence) -> float:
    """For how many runs of an ordinary formula a run counts: by its turns, or where it is slow by time."""
    slow = evidence.processor / SECONDS_OF_A_RUN if evidence.processor > QUICK_SECONDS else 0.0
    return max(1.0, evidence.turns / TURNS_OF_A_RUN, slow)
