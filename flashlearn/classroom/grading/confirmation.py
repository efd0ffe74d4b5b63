"""Whether right numbers are a submission's kernels' work: they compute them again, without its launcher.

    >>> confirm(exercise, child, trusted, right=12)
    Confirmation(doubt='', remark='')

A submission's own process says what its launcher asks for, given other numbers than those that count. In
a process that never ran its cells, the kernels then run on numbers that its own process never saw. So an
observer that was replaced there, a number that was read out of a tensor or an answer that was kept gains
nothing. What the launcher has torch compute from its inputs is counted, and may be a small part of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch

from flashlearn.classroom.grading.exercise_grade import is_rounding
from flashlearn.classroom.grading.kernel_texts import earlier_texts, function_text, solution_texts
from flashlearn.classroom.grading.plan_review import objections
from flashlearn.classroom.sandbox.answer import SandboxedAnswer
from flashlearn.course.answers import earlier_answer
from flashlearn.exercise import Exercise, Inputs
from flashlearn.interpreter.launcher_watch import EMPTY, FILLED
from flashlearn.judging import cases
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer, Facts
from flashlearn.running.answer_source import Section
from flashlearn.running.evidence import Evidence, Raised
from flashlearn.running.launcher_plan import ConstantTensor, LauncherPlan, Operation
from flashlearn.running.launcher_work import (
    CHOOSES,
    MOVES,
    Elements,
    WorkOfTorch,
    adds,
    elements,
    work_of,
)
from flashlearn.running.run_modes import Observed, RunMode

MOST_BY_TORCH = 0.25
"""The share of an exercise's operations that torch may do in the launcher, over all cases."""
MOST_TRANSCENDENTAL, MOST_COMPUTED, MOST_OF_A_GRADIENT = 0.25, 0.25, 0.4
"""Of the reference's exponentials and the like, and of all its operations but products, torch may do this
share. Where gradients are asked for, it may also compute delta, and multiply by alpha."""
MOST_OF_A_CASE = 0.75
"""The share of one case's operations: small cases are the hard ones, and add little to the sum of all."""
DELTA = 3
"""Operations for each element of dO that delta takes, cast and all."""
MOST_STORED = 6.0
"""So many bytes for each score may kernels store beside four for each output: S and P in fp32 have eight, and
sums of two shares of the keys up to five where rows are short."""
MOST_FILLED = 4
"""So many tensors may a launcher fill where an exercise has no operations."""
FILLS = frozenset({"fill_", "masked_fill", "masked_fill_"})
NOT_AGAIN = "its kernels alone do not compute these numbers ({why}){reads}"
BY_TORCH = "in its launcher torch does {share:.0%} of the work: {which}"
OF_A_KIND = "in its launcher torch does {share:.0%} of {what}: {which}"
TRANSCENDENTAL, COMPUTED = "the exponentials, logarithms and the like", "what is no product"
IN_A_CASE = "in its launcher torch does {share:.0%} of the work of case {case}: {which}"
BESIDE_EARLIER = (
    "Beside its own kernels it calls {all}, of an earlier lesson: see how much of the work they do."
)
EARLIER = "all its kernels are those of earlier lessons: {all}"
STORES_SCORES = (
    "its kernels store {times:.1f} bytes for each score beside the outputs: S, or what follows from it, is "
    "kept in memory"
)
OBJECTION = "its launcher or its kernels use {all}"
MAKES_NUMBERS = "its launcher makes numbers that its kernels should make: {all}"
READS = ": its launcher reads values out of tensors"


CALLS_EARLIER = frozenset({"09"})
"""Lessons whose exercises are launchers of earlier kernels."""
KEEPS_SHARES = frozenset({"determinism"})
"""Exercises that keep what grows with the scores, on purpose."""


class ReplayedAnswer(Answer):
    """A submission's answer: observed runs are carried out in a process that it cannot reach.

    `child` is the submission's own, `trusted` gives the other one. `doubts` are what spoke against a plan,
    `reads` counts values that a launcher read out of tensors. A review may call for what the launcher has to
    refuse: while `reviewing`, a call without a plan is the child's own.
    """

    def __init__(self, child: SandboxedAnswer, trusted: Callable[[], SandboxedAnswer]):
        self.child, self.trusted = child, trusted
        self.elsewhere = self.taken = 0.0
        self.doubts: list[str] = []
        self.work: list[WorkOfTorch] = []
        self.made: set[str] = set()
        self.kernels: dict[str, str] = {}
        self.reads = 0
        self.reviewing = False

    def facts(self) -> Facts:
        return self.child.facts()

    def misfit(self, name: str, arguments: Sequence[str]) -> str:
        return self.child.misfit(name, arguments)

    def sections(self) -> tuple[Section, ...]:
        return self.child.sections()

    def run(self, inputs: Inputs, mode: RunMode) -> Evidence:
        if not isinstance(mode, Observed):
            return self.child.run(inputs, mode)
        plan = self.child.plan(stand_ins(inputs), mode.limit)
        if isinstance(plan, str):
            return self.child.run(inputs, mode) if self.reviewing else self._doubted(plan)
        if found := objections(plan):
            return self._doubted(OBJECTION.format(all=", ".join(found[:6])))
        evidence, work = self.trusted().carry_out(plan, inputs, mode)
        self.work.append(work)
        self.made |= made_numbers(plan)
        self.kernels |= {function_text(one): one["name"] for one in plan.functions}
        self.reads += plan.reads
        return evidence

    def prepared(self, draws: Sequence[Inputs], limit: float) -> AbstractContextManager[None]:
        return nullcontext()

    def _doubted(self, why: str) -> Evidence:
        self.doubts.append(why)
        return Evidence(raised=Raised("NoPlan", why, Status.CRASHED, why))


class Confirmation(NamedTuple):
    """What speaks against an answer, "" if it is its kernels' work, and a remark for the teacher, or ""."""

    doubt: str = ""
    remark: str = ""


def confirm(
    exercise: Exercise, child: SandboxedAnswer, trusted: Callable[[], SandboxedAnswer], right: int
) -> Confirmation:
    """Whether an answer with so many right cases is its kernels' work.

    The exercise's cases have seeds of their own: other numbers than the submission's process has seen.
    """
    again = ReplayedAnswer(child, trusted)
    doubt = _doubt(exercise, again, right)
    return Confirmation(doubt, "" if doubt else _beside_earlier(exercise, again.kernels))


def _doubt(exercise: Exercise, again: ReplayedAnswer, right: int) -> str:
    outcomes, operations, of_a_case = [], 0.0, ""
    for case in exercise.cases:
        if not case.gpu:
            before = len(again.work)
            outcomes.append(cases.run_observed(exercise, again, case))
            needed = _operations(exercise, outcomes[-1])
            of_a_case = of_a_case or _in_a_case(exercise, again.work[before:], needed, outcomes[-1])
            operations += needed
    wrong = [one for one in outcomes if one.status is not Status.PASS]
    if len(outcomes) - len(wrong) < right and not is_rounding(outcomes):
        reads = READS if again.reads else ""
        return again.doubts[0] if again.doubts else NOT_AGAIN.format(why=_why(wrong[0]), reads=reads)
    if too_much := _by_torch(again.work, operations) or _of_a_kind(exercise, again.work, outcomes):
        return too_much
    if of_a_case:
        return of_a_case
    if _only_earlier(exercise, again.kernels):
        return EARLIER.format(all=", ".join(sorted(again.kernels.values())[:6]))
    if sentence := _stores_scores(exercise, outcomes):
        return sentence
    if again.made and not operations and exercise.judged.work is not None:
        return MAKES_NUMBERS.format(all=", ".join(sorted(again.made)[:6]))
    if not wrong and exercise.judged.seen is not None and (sentence := exercise.judged.seen(outcomes)):
        return sentence
    if not wrong and exercise.judged.review is not None:
        again.reviewing = True
        return exercise.judged.review(again, earlier_answer)
    return ""


def _only_earlier(exercise: Exercise, kernels: Mapping[str, str]) -> bool:
    """Whether all of these kernels, by their texts, are of earlier lessons, which this one is not about."""
    if not kernels or exercise.lesson in CALLS_EARLIER:
        return False
    return kernels.keys() <= earlier_texts(exercise.lesson)


def _beside_earlier(exercise: Exercise, kernels: Mapping[str, str]) -> str:
    """A remark if kernels of earlier lessons are among these that the course's own solution does without."""
    others = earlier_texts(exercise.lesson) - solution_texts(exercise.name)
    names = sorted(name for text, name in kernels.items() if text in others)
    return BESIDE_EARLIER.format(all=", ".join(f"`{name}`" for name in names[:6])) if names else ""


def _operations(exercise: Exercise, outcome: Outcome) -> float:
    if exercise.judged.work is None:
        return 0.0
    inputs = exercise.inputs(outcome.case, outcome.case.generator())
    return float(exercise.judged.work(inputs).operations)


def _by_torch(work: Sequence[WorkOfTorch], operations: float) -> str:
    """A sentence if torch did more than a small part of the operations."""
    done: dict[str, int] = {}
    for one in work:
        for name, count in (*one.before, *one.after):
            done[name] = done.get(name, 0) + count
    share = sum(done.values()) / operations if operations else 0.0
    return BY_TORCH.format(share=min(share, 1.0), which=_named(done)) if share > MOST_BY_TORCH else ""


def _in_a_case(exercise: Exercise, work: Sequence[WorkOfTorch], operations: float, outcome: Outcome) -> str:
    """A sentence if torch did most of one case, whatever it did of the others.

    Where a mask hides almost everything, delta is more than the rest.
    """
    done = [pair for one in work for pair in (*one.before, *one.after)]
    by_torch = sum(count for _, count in done)
    inputs = exercise.inputs(outcome.case, outcome.case.generator()) if by_torch else {}
    delta = DELTA * inputs["do"].numel() if {"q", "do"} <= inputs.keys() else 0
    share = max(by_torch - delta, 0) / operations if operations else 0.0
    if share <= MOST_OF_A_CASE or outcome.status is not Status.PASS:
        return ""
    return IN_A_CASE.format(share=min(share, 1.0), case=outcome.case.name, which=_named(dict(done)))


def _stores_scores(exercise: Exercise, outcomes: Sequence[Outcome]) -> str:
    """A sentence if kernels store as much as a matrix of scores takes, where none should be in memory."""
    if exercise.judged.grows is None or exercise.name in KEEPS_SHARES:
        return ""
    stored = scores = 0
    for outcome in outcomes:
        if outcome.observation is not None and outcome.status is Status.PASS:
            inputs = exercise.inputs(outcome.case, outcome.case.generator())
            scores += exercise.judged.grows(inputs)
            stored += sum(one.stored for one in outcome.observation.traffic.values())
            stored -= 4 * sum(one.expected.numel() for one in outcome.outputs)
    times = stored / scores if scores else 0.0
    return STORES_SCORES.format(times=times) if times >= MOST_STORED else ""


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"torch.{name}" for name in sorted(names)[:6])


def _of_a_kind(exercise: Exercise, work: Sequence[WorkOfTorch], outcomes: Sequence[Outcome]) -> str:
    """A sentence if torch did what the products do not: the exponentials of an attention, or its sums.

    Between large products that is a small part of the operations, and still the exercise. Where the reference
    has nothing but products, torch may add up what kernels stored.
    """
    done = sum(map(elements, work), Elements())
    if not done.computed:
        return ""
    needed = Elements()
    for outcome in outcomes:
        inputs = exercise.inputs(outcome.case, outcome.case.generator())
        needed += elements(work_of(exercise.reference, inputs))
    names = {name for one in work for name, _ in (*one.before, *one.after)}
    most = MOST_OF_A_GRADIENT if exercise.judged.gradient else MOST_COMPUTED
    for what, by_torch, of, share in (
        (TRANSCENDENTAL, done.transcendental, needed.transcendental, MOST_TRANSCENDENTAL),
        (COMPUTED, done.computed, needed.computed, most),
    ):
        if by_torch > share * of and (of or what is TRANSCENDENTAL):
            return OF_A_KIND.format(share=min(by_torch / max(of, 1), 1.0), what=what, which=_named(names))
    return ""


def made_numbers(plan: LauncherPlan) -> set[str]:
    """What a launcher brings along or computes that is neither memory, one number all over, nor a move.

    Where an exercise has no operations to count, such numbers may be the answer.
    """
    made = set()
    for step in plan.steps:
        if isinstance(step, ConstantTensor):
            made.add("a constant tensor")
        elif isinstance(step, Operation) and not _only_moves(step):
            made.add(f"torch.{step.name}")
    filled = [step for step in plan.steps if isinstance(step, Operation) and step.name in FILLED | FILLS]
    return made | ({"many numbers, one by one"} if len(filled) > MOST_FILLED else set())


def _only_moves(step: Operation) -> bool:
    operation = getattr(getattr(torch.ops.aten, step.name), step.overload or "default")
    plain = operation.is_view or step.name in EMPTY | FILLED | MOVES | CHOOSES
    return plain and not adds(step.name, step.args, step.named)


def _why(outcome: Outcome) -> str:
    return outcome.message.rstrip(".")[:300]


def stand_ins(inputs: Inputs) -> Inputs:
    """Inputs of the same shapes, strides and dtypes: other numbers in place of floating-point ones."""
    generator = torch.Generator().manual_seed(20_011)
    return {name: _other(value, generator) for name, value in inputs.items()}


def _other(value: Any, generator: torch.Generator) -> Any:
    if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.device.type != "cpu":
        return value
    span = (
        1 + sum((n - 1) * s for n, s in zip(value.shape, value.stride(), strict=True)) if value.numel() else 0
    )
    noise = torch.rand(span, generator=generator).add_(0.5).to(value.dtype)
    return noise.as_strided(value.shape, value.stride()).requires_grad_(value.requires_grad)
