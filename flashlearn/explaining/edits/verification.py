"""Whether an edited text gives right answers: in the wrong cases, quickest first, and in some right ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from flashlearn.exercise import Exercise, Kind
from flashlearn.judging.draws import Draws
from flashlearn.judging.symbolic.cases import agreeing, arguments
from flashlearn.judging.tolerance import agrees
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Edited

PATIENCE = 1_000
"""Work that a search may take: accesses to memory, and ANEW for each run of an edited text."""

ANEW = 8
IN_TORCH = 3
"""The same of an answer without a kernel."""

MANY, AT_LEAST = 8, 600
"""So many times the accesses of a text an edit of it may take, and so many in any case."""

STRAY = 3_000
"""The same where the text's own are not known."""

SHARE, ALWAYS = 3, 100
"""With a second edit no run takes more than a part in so many of the work that is left, but for so much, and
twice its own."""

FORMULAS = 400
"""So many runs of edited formulas."""

BY_CHANCE = frozenset(
    {"factor", "constant", "sign", "operator", "dropped", "not rescaled", "brackets", "branch", "summand"}
)
"""Kinds of edits that may mend a single case by chance; two are needed to believe them."""

ROUNDINGS = frozenset({"rounded up", "rounded down", "one too many", "one off", "divisor", "taken", "name"})
"""The same for a formula in whole numbers."""

SPARED = 6
"""So many cases that are right already must remain so, of as many kinds as there are."""

ENDED = (Status.OUT_OF_BOUNDS, Status.RACE)
JUDGED = (Status.PASS, Status.WRONG, *ENDED)
SECONDS = 1.5


class Numbers:
    """Cases that tensors decide. Nothing is wrong with an answer that cannot be judged by them."""

    def __init__(self, exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome]):
        self.exercise, self.answer, self.left = exercise, answer, float(PATIENCE)
        self.by_chance = BY_CHANCE
        self.anew = IN_TORCH if exercise.kind is Kind.TORCH else ANEW
        judged = exercise.judged.read is None and all(map(_comparable, outcomes))
        self.wrong = sorted((o for o in outcomes if o.status is not Status.PASS and judged), key=cost)
        self.right = _spared([o for o in outcomes if o.status is Status.PASS])
        outputs = {c.name for o in self.wrong for c in o.outputs if not c.ok}
        astray = any(o.status in ENDED or not o.outputs for o in self.wrong)
        self.bad = set(exercise.outputs) if astray else outputs
        self.reached = 0
        self.kept: tuple[tuple[int, str], ...] = ()
        self.drawn = Draws(exercise)

    def mended(self, section: int, text: str) -> set[str]:
        """The outputs that are right in every case with this text in place of that section."""
        good, self.reached = set(self.bad), 0
        for number, outcome in enumerate((*self.wrong, *self.right)):
            good &= self._right(section, text, outcome)
            if not good:
                break
            self.reached = min(number + 1, len(self.wrong)) if good == self.bad else self.reached
        return good

    def _right(self, section: int, text: str, outcome: Outcome) -> set[str]:
        evidence = self._run(section, text, outcome)
        values = evidence.values
        if evidence.raised is not None or len(values) != len(self.exercise.outputs):
            return set()
        names = self.exercise.outputs
        right = {name for i, name in enumerate(names) if self._agrees(outcome, i, values[i])}
        return right if set(names) - self.bad <= right else set()

    def ended(self) -> list[Outcome]:
        """The wrong cases that an access ended, quickest first."""
        return [o for o in self.wrong if o.status in ENDED]

    def comes_through(self, section: int, text: str, outcome: Outcome) -> bool:
        """Whether a case comes to its end with this text in place of that section."""
        return self._run(section, text, outcome).raised is None

    def _run(self, section: int, text: str, outcome: Outcome) -> Evidence:
        """One run of an edited text, which is paid for by what it took."""
        evidence = self._evidence(section, text, outcome)
        self.left -= self.anew + evidence.accesses
        return evidence

    def _evidence(self, section: int, text: str, outcome: Outcome) -> Evidence:
        others = tuple(one for one in self.kept if one[0] != section)
        most = _most(outcome)
        if self.kept:
            most = min(most, max(ALWAYS, int(self.left / SHARE), int(2 * cost(outcome))))
        how = Edited(section, text, outcome.case.seed, most, more=others)
        return self.answer.run(self.drawn.inputs(outcome.case), how)

    def judged(self, section: int, text: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """The outcomes with this text in place of that section; none if a case does not come to its end."""
        found = []
        for outcome in outcomes:
            evidence = self._evidence(section, text, outcome)  # of a few edits only, and not paid for
            if evidence.raised is not None or len(evidence.values) != len(self.exercise.outputs):
                return []
            truth = self.drawn.of(outcome.case).truth
            checks = tuple(truth.judge(i, value) for i, value in enumerate(evidence.values))
            status = Status.PASS if all(check.ok for check in checks) else Status.WRONG
            found.append(replace(outcome, status=status, outputs=checks, fault=(), message="", place=None))
        return found

    def _agrees(self, outcome: Outcome, number: int, value: object) -> bool:
        if outcome.outputs:
            return agrees(outcome.outputs[number], value)
        return self.drawn.of(outcome.case).truth.judge(number, value).ok


class Formulas:
    """Cases that symbols decide."""

    def __init__(self, exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome]):
        self.exercise, self.answer, self.left = exercise, answer, float(FORMULAS)
        self.by_chance = BY_CHANCE | ROUNDINGS
        self.reached = 0
        self.kept: tuple[tuple[int, str], ...] = ()
        self.wrong = [o for o in outcomes if o.status is Status.WRONG]
        self.right = [o for o in outcomes if o.status is Status.PASS][:SPARED]
        self.bad = {c.name for o in self.wrong for c in o.outputs if not c.ok}

    def mended(self, section: int, text: str) -> set[str]:
        """The outputs that are right in every case with this text in place of that section."""
        good, self.reached = set(self.bad), 0
        others = tuple(one for one in self.kept if one[0] != section)
        for number, outcome in enumerate((*self.wrong, *self.right)):
            self.left -= 1
            how = Edited(section, text, more=others)
            evidence = self.answer.run(arguments(self.exercise, outcome.case), how)
            if evidence.raised is not None:
                return set()
            right = agreeing(self.exercise, outcome.case, evidence.returned, SECONDS)
            good &= right if set(self.exercise.outputs) - self.bad <= right else set()
            if not good:
                break
            self.reached = min(number + 1, len(self.wrong)) if good == self.bad else self.reached
        return good


def _spared(right: Sequence[Outcome]) -> list[Outcome]:
    """A few of the right cases: the quickest of each kind first, quick ones before slow ones."""
    kinds: dict[tuple, int] = {}
    order = []
    for outcome in sorted(right, key=cost):
        case = outcome.case
        kind = (case.tags, "not causal" in case.name or "causal" not in case.name)
        kinds[kind] = kinds.get(kind, 0) + 1
        order.append((kinds[kind], cost(outcome), outcome))
    first = [outcome for _, _, outcome in sorted(order, key=lambda one: one[:2])[:SPARED]]
    return sorted(first, key=cost)


def cost(outcome: Outcome) -> float:
    """Accesses to memory; in a Gluon kernel what its partitions do takes as long, each time."""
    seen = outcome.observation
    return float(seen.accesses + len(seen.timeline)) if seen is not None else 0.0


def _most(outcome: Outcome) -> int:
    """So many accesses an edited text may take; nobody knows how many one needs that ended early."""
    if outcome.status in ENDED:
        return STRAY
    return max(AT_LEAST, int(MANY * cost(outcome)))


def _comparable(outcome: Outcome) -> bool:
    """True for a case that was judged by its numbers, or could have been."""
    if outcome.status not in JUDGED or outcome.mode != "observed":
        return False
    if outcome.status in ENDED:
        return True
    return not outcome.fault and all(
        isinstance(check.got, torch.Tensor) and not check.problem for check in outcome.outputs
    )
