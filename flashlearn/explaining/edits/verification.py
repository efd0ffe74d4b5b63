"""Whether an edited text gives right answers: in the wrong cases, fastest first, and in some right ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.edits.acceptance import Acceptance
from flashlearn.explaining.edits.echoes import Echoes
from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.known_runs import known_or_run
from flashlearn.explaining.edits.trial import cost
from flashlearn.judging.draws import Draws
from flashlearn.judging.fresh_cases import fresh_cases
from flashlearn.judging.tolerance import agrees
from flashlearn.later import torch
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Edited

SEARCH_WORK = 2_000
"""Work that a search may take: accesses to memory, and a fixed amount for each run of an edited text."""

PARTITIONED_SEARCH_WORK = 600
"""The same for Gluon kernels, whose partitions wait for each other: an access takes longer there."""

KERNEL_RUN_WORK = 8
"""The fixed amount for an answer with a kernel."""

TORCH_RUN_WORK = 1.5
"""The fixed amount for an answer without one."""

ACCESS_FACTOR, MIN_ACCESSES = 8, 600
"""An edited text may take this factor times the accesses of the original one, and at least this number."""

UNKNOWN_ACCESSES = 3_000
"""The limit if the accesses of the original text are not known."""

SECOND_EDIT_SHARE, SECOND_EDIT_ACCESSES = 3, 100
"""In the search for a second edit, one run may take this fraction of the work that is left: but at least this
number of accesses, and at least twice those of the original text."""

WASTEFUL = 1.3
"""An edit is no repair if a case that passed before takes more than this factor times its accesses."""

FRESH_CASES = 2
"""On how many cases that the exercise does not have an edit must be right as well."""

RIGHT_CASES = 6
"""So many cases that are right already, from as many kinds as there are, must remain so before the others are
run."""

MISFITS = ("shape", "dtype")
"""What may be wrong with the form of an output: an edit that puts it right may be found by the numbers."""

SYNCHRONISATION = "synchronisation"
"""What a fault of time in a Gluon kernel begins with; its kind comes next, and is the finding's name."""

STOPPED = (Status.OUT_OF_BOUNDS, Status.RACE)
JUDGED = (Status.PASS, Status.WRONG, *STOPPED)


class NumericTrial:
    """A trial whose cases are decided by tensors. It has no wrong cases if the answer cannot be judged so.

    With `forms`, outputs of another shape or dtype are among what an edit may put right; with `waits`, cases
    that a fault of synchronisation ended.
    """

    def __init__(
        self,
        exercise: Exercise,
        answer: Answer,
        outcomes: Sequence[Outcome],
        forms: bool = False,
        waits: bool = False,
    ):
        self.exercise, self.answer = exercise, answer
        partitioned = any(o.observation is not None and o.observation.timeline for o in outcomes)
        self.left = float(PARTITIONED_SEARCH_WORK if partitioned else SEARCH_WORK)
        self.watched = exercise.kind is not Kind.TORCH or any(map(_launches, outcomes))
        self.run_work = KERNEL_RUN_WORK if self.watched else TORCH_RUN_WORK
        asked = MISFITS if _only_dtypes(outcomes) else ("shape",)
        fit = [
            _comparable(o, forms, waits) if self.watched or forms else _decidable(o, asked) for o in outcomes
        ]
        judged = exercise.judged.read is None and all(fit)
        self.wrong = sorted((o for o in outcomes if o.status is not Status.PASS and judged), key=cost)
        passing = [o for o in outcomes if o.status is Status.PASS and o.mode == "observed"]
        self.right = right_cases(passing)
        self.others = sorted((o for o in passing if all(o is not one for one in self.right)), key=cost)
        outputs = {c.name for o in self.wrong for c in o.outputs if not c.ok}
        stopped = any(_stops(o) or not o.outputs for o in self.wrong)
        self.bad = set(exercise.outputs) if stopped else outputs
        self.reached = 0
        self.superfluous = self.wasteful = False
        self.fixed: tuple[tuple[int, str], ...] = ()
        self.drawn = Draws(exercise)
        self._fresh_outcomes: list[Outcome] | None = None
        self._first: tuple[object, ...] = ()
        self._echoes: Echoes | None = None
        self._acceptance = Acceptance(exercise, answer)

    def by_chance(self, edit: Edit) -> bool:
        """True for an edit that may repair a single case by chance."""
        return edit.kind.by_chance

    def repaired(self, section: int, text: str) -> set[str]:
        """The outputs that are right in every case with this text in place of that section."""
        good, self.reached, self.superfluous = set(self.bad), 0, False
        self.wasteful = False
        for number, outcome in enumerate((*self.wrong, *self.right)):
            good &= self._right_outputs(section, text, outcome)
            if not good:
                break
            self.reached = min(number + 1, len(self.wrong)) if good == self.bad else self.reached
        return good

    def _right_outputs(self, section: int, text: str, outcome: Outcome) -> set[str]:
        evidence = self._run(section, text, outcome)
        values = evidence.values
        if self.wrong and outcome is self.wrong[0]:
            self._first = values if evidence.raised is None else ()
        seen = outcome.observation
        if outcome.status is Status.PASS and seen is not None and evidence.accesses > seen.accesses:
            self.superfluous = True
            self.wasteful |= wasteful(outcome, evidence.accesses)
        right = self._agreeing(evidence, outcome)
        return right if set(self.exercise.outputs) - self.bad <= right else set()

    def _agreeing(self, evidence: Evidence, outcome: Outcome) -> set[str]:
        """The outputs that came out right."""
        values, names = evidence.values, self.exercise.outputs
        if evidence.raised is not None or len(values) != len(names):
            return set()
        return {name for i, name in enumerate(names) if self._agrees(outcome, i, values[i])}

    def echoes(self) -> bool:
        """Whether the last text left in the first wrong case what a known mistake gives there."""
        if len(self.wrong) < 2 or len(self._first) != len(self.exercise.outputs) or not self.wrong[0].outputs:
            return False
        if self._echoes is None:
            self._echoes = Echoes(self.exercise, self.wrong[0])
        return self._echoes.hears(self._first)

    def generalises(self, section: int, text: str, outputs: Iterable[str]) -> bool:
        """Whether these outputs are right on cases that the exercise does not have and in all that passed.

        Where that makes every output right, the exercise's review must accept the edited answer, too.
        """
        wanted = {*outputs}
        if not all(self._right_on(section, text, outcome) >= wanted for outcome in self._fresh()):
            return False
        left = self.left  # only few edits come so far: what a search may take is meant for the others
        held = all(self._right_outputs(section, text, outcome) >= wanted for outcome in self.others)
        self.left = left
        if not held or wanted != self.bad:
            return held
        others = (one for one in self.fixed if one[0] != section)
        return self._acceptance.accepts(((section, text), *others))

    def passing(self, section: int, text: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Those of the outcomes that are right with this text in place of that section."""
        names = {*self.exercise.outputs}
        return [o for o in outcomes if names <= self._agreeing(self._run(section, text, o), o)]

    def _fresh(self) -> list[Outcome]:
        """Fresh cases as outcomes still to be judged, each from a wrong case: fast and varied ones."""
        if self._fresh_outcomes is None:
            usual = [o for o in self.wrong if o.case.data == "normal" and o.case.magnitude == 1] or self.wrong
            bases = _varied(usual)[:FRESH_CASES]
            cases = fresh_cases(self.exercise, [o.case for o in bases])
            self._fresh_outcomes = [
                replace(base, case=case, outputs=()) for base, case in zip(bases, cases, strict=False)
            ]
        return self._fresh_outcomes

    def _right_on(self, section: int, text: str, outcome: Outcome) -> set[str]:
        """The outputs that are right in a case that has not been judged."""
        draw = self.drawn.of(outcome.case)
        others = tuple(one for one in self.fixed if one[0] != section)
        most = 2 * _access_limit(outcome)
        how = Edited(section, text, outcome.case.seed, most, more=others, watched=self.watched)
        values, names = self.answer.run(draw.inputs, how).values, self.exercise.outputs
        if len(values) != len(names):
            return set()
        return {name for i, name in enumerate(names) if draw.truth.judge(i, values[i]).ok}

    def accesses(self, section: int, text: str, outcome: Outcome) -> int | None:
        """How many accesses a case takes with this text in place of that section; None if it ends early."""
        evidence = self._run(section, text, outcome)
        return evidence.accesses if evidence.raised is None else None

    def stopped(self) -> list[Outcome]:
        """The wrong cases that an access stopped, fastest first."""
        return [o for o in self.wrong if _stops(o)]

    def completes(self, section: int, text: str, outcome: Outcome) -> bool:
        """Whether a case completes with this text in place of that section."""
        return self._run(section, text, outcome).raised is None

    def _run(self, section: int, text: str, outcome: Outcome) -> Evidence:
        """One run of an edited text, whose work is counted."""
        evidence = self._evidence(section, text, outcome)
        self.left -= self.run_work + evidence.accesses
        return evidence

    def _evidence(self, section: int, text: str, outcome: Outcome) -> Evidence:
        others = tuple(one for one in self.fixed if one[0] != section)
        most = _access_limit(outcome)
        if self.fixed:
            share = int(self.left / SECOND_EDIT_SHARE)
            most = min(most, max(SECOND_EDIT_ACCESSES, share, int(2 * cost(outcome))))
        how, case = Edited(section, text, outcome.case.seed, most, others, watched=self.watched), outcome.case
        return known_or_run(
            self.answer, case.name, how, lambda: self.answer.run(self.drawn.inputs(case), how)
        )

    def judged(self, section: int, text: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes with this text in place of that section; none if a case does not complete."""
        judged = []
        for outcome in outcomes:
            evidence = self._evidence(section, text, outcome)  # only for a few edits, so it is not counted
            if evidence.raised is not None or len(evidence.values) != len(self.exercise.outputs):
                return []
            truth = self.drawn.of(outcome.case).truth
            checks = tuple(truth.judge(i, value) for i, value in enumerate(evidence.values))
            status = Status.PASS if all(check.ok for check in checks) else Status.WRONG
            judged.append(replace(outcome, status=status, outputs=checks, fault=(), message="", place=None))
        return judged

    def _agrees(self, outcome: Outcome, number: int, value: object) -> bool:
        if outcome.outputs and not outcome.outputs[number].problem:
            return agrees(outcome.outputs[number], value)
        return self.drawn.of(outcome.case).truth.judge(number, value).ok


def wasteful(outcome: Outcome, accesses: float) -> bool:
    """Whether a case that passed before takes clearly more accesses than it did: it does not need them.

    Where all values are alike or zero, as in some cases, work that is missing may not show.
    """
    return outcome.case.data == "normal" and accesses > WASTEFUL * cost(outcome) + 1


def right_cases(right: Sequence[Outcome]) -> list[Outcome]:
    """A few of the right cases: the fastest of each kind first, fast ones before slow ones."""
    kinds: dict[tuple, int] = {}
    order = []
    for outcome in sorted(right, key=cost):
        case = outcome.case
        kind = (case.tags, "not causal" in case.name or "causal" not in case.name)
        kinds[kind] = kinds.get(kind, 0) + 1
        order.append((kinds[kind], cost(outcome), outcome))
    first = [outcome for _, _, outcome in sorted(order, key=lambda one: one[:2])[:RIGHT_CASES]]
    return sorted(first, key=cost)


def _varied(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes with the fastest of each kind of case first; cases of length 1 test the least."""
    kinds: dict[tuple, int] = {}
    order = []
    for outcome in sorted(outcomes, key=lambda o: (min(o.case.sizes.values(), default=2) < 2, cost(o))):
        kinds[outcome.case.tags] = kinds.get(outcome.case.tags, 0) + 1
        order.append((kinds[outcome.case.tags], len(order), outcome))
    return [outcome for _, _, outcome in sorted(order, key=lambda one: one[:2])]


def is_of_time(outcome: Outcome) -> bool:
    """Whether a fault of synchronisation in a Gluon kernel ended a case."""
    return outcome.fault[:1] == (SYNCHRONISATION,)


def _stops(outcome: Outcome) -> bool:
    """Whether an access ended a case, or a fault of synchronisation."""
    return outcome.status in STOPPED or is_of_time(outcome)


def _access_limit(outcome: Outcome) -> int:
    """The accesses that an edited text may take. The number that a stopped case needs is unknown."""
    if _stops(outcome):
        return UNKNOWN_ACCESSES
    return max(MIN_ACCESSES, int(ACCESS_FACTOR * cost(outcome)))


def _launches(outcome: Outcome) -> bool:
    """Whether a case launched kernels."""
    return outcome.observation is not None and bool(outcome.observation.launches)


def _only_dtypes(outcomes: Sequence[Outcome]) -> bool:
    """True if wherever something is wrong it is an output's dtype."""
    failing = [o for o in outcomes if o.status is not Status.PASS]
    wrong = [c for o in failing for c in (o.outputs or (None,)) if c is None or not c.ok]
    return all(c is not None and c.misfit is not None and c.misfit.what == "dtype" for c in wrong)


def _decidable(outcome: Outcome, misfits: Sequence[str]) -> bool:
    """True for a case of a formula in torch that was judged, also by these misfits, or crashed.

    Where more is wrong than a dtype, no edit says more of it than the dtype that is asked for.
    """
    if outcome.status is Status.CRASHED:
        return True
    if any(check.misfit is not None and check.misfit.what not in misfits for check in outcome.outputs):
        return False
    return outcome.status in (Status.PASS, Status.WRONG) and outcome.mode == "observed" and not outcome.fault


def _comparable(outcome: Outcome, forms: bool, waits: bool) -> bool:
    """True for a case that was judged by its numbers, or could have been."""
    if outcome.mode != "observed" or (outcome.status not in JUDGED and not (waits and is_of_time(outcome))):
        return False
    if _stops(outcome):
        return True
    return not outcome.fault and all(
        isinstance(check.got, torch.Tensor)
        and (not check.problem or (forms and check.misfit is not None and check.misfit.what in MISFITS))
        for check in outcome.outputs
    )
