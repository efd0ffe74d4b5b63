"""Run a learner's launcher over an exercise's cases: observed first, then compiled if there is a GPU.

An observed run uses the interpreter, which checks every access. A kernel is compiled and launched only after
all observed cases have passed: a wild store on a GPU would cost the learner the session.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Callable
from typing import Any

import torch

from flashlearn.exercise import Case, Exercise, Inputs, Kind
from flashlearn.interpreter.cautions import TF32
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.judging import gpu_acceptance, gpu_fit, speed
from flashlearn.judging.compiled_cases import Unfit, fitting_inputs, run_compiled, unfit_cautions
from flashlearn.judging.draws import Draw, Draws
from flashlearn.judging.return_values import (
    check_authorship,
    count_mismatch,
    count_sentence,
    mismatch_sentence,
    side_effects,
)
from flashlearn.judging.similar_sentences import without_numbers
from flashlearn.judging.tolerance import Truth
from flashlearn.machine import device
from flashlearn.observation import Compiling
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer, answering
from flashlearn.running.crashes import describe_exception
from flashlearn.running.evidence import Evidence, ObservedRace, Output
from flashlearn.running.run_modes import Observed
from flashlearn.running.values import as_tuple, same

TERMINAL_STATUSES = (Status.TODO, Status.TIMEOUT)
SECOND_DRAW_SEED = 7919
CHECK_LIMIT_FACTOR = 3
"""The limit of a whole check, as a multiple of the limit of one case."""
ACCESS_BUDGET = 1_700
"""Memory accesses after which a kernel known to be wrong skips its longest cases.

Accesses take most of the time of an observed run, and their number is the same on every machine.
"""
MIN_FAILURES = 5
"""Cases must have failed this often before any is skipped."""


def run(
    exercise: Exercise,
    answer: Answer | Callable[..., Any],
    compiled: bool | None = None,
    watching: Callable[[Case | Compiling], None] = lambda case: None,
) -> list[Outcome]:
    """Outcomes of every case, in order; a stub or a time limit ends the run early.

    A slow kernel that is wrong in many cases skips the longest ones. `compiled` says whether passing kernels
    are then run on the GPU (default: if there is one). `watching` is called with each case before it begins,
    and while kernels are compiled.
    """
    answer = answering(exercise, answer)
    refusal = _refuse(exercise, answer)
    if refusal is not None:
        return [refusal]
    drawn = Draws(exercise)
    if exercise.kind is not Kind.KERNEL or not (
        device.runs(exercise.judged.needs) if compiled is None else compiled
    ):
        return _observed(exercise, answer, drawn, watching)
    with contextlib.ExitStack() as background:
        outcomes = _observed(exercise, answer, drawn, watching, background)
        if all(o.status is Status.PASS for o in outcomes):
            unfit: list[Unfit] = []
            tf32 = has_caution(outcomes, TF32)
            outcomes += run_compiled(exercise, answer, tf32=tf32, drawn=drawn, unfit=unfit)
            if unfit:
                known = [caution for one in outcomes for caution in one.warnings]
                warnings = (*outcomes[-1].warnings, *unfit_cautions(unfit, known))
                outcomes[-1] = dataclasses.replace(outcomes[-1], warnings=warnings)
        return outcomes


def _observed(
    exercise: Exercise,
    answer: Answer,
    drawn: Draws,
    watching: Callable[[Case | Compiling], None],
    background: contextlib.ExitStack | None = None,
) -> list[Outcome]:
    """The observed cases. Once the first has passed, kernels are compiled in `background`, if given."""
    outcomes: list[Outcome] = []
    may_skip = exercise.kind is Kind.KERNEL and exercise.explained.explain is None
    time_before = answer.taken
    for case in exercise.cases:
        if case.gpu or (may_skip and exceeds_budget(case, outcomes)):
            continue
        if (taken := answer.taken - time_before) > CHECK_LIMIT_FACTOR * exercise.judged.time_limit:
            return [*outcomes, _too_long(exercise, case, outcomes, taken)]
        watching(case)
        outcomes.append(run_observed(exercise, answer, case, drawn=drawn.of(case)))
        if outcomes[-1].status in TERMINAL_STATUSES:
            return outcomes
        if background is not None and len(outcomes) == 1 and outcomes[0].status is Status.PASS:
            background.enter_context(answer.compiling(_launch_inputs(exercise, drawn), watching))
    return (
        _accepted(exercise, answer, outcomes, drawn, background is not None)
        if all(o.status is Status.PASS for o in outcomes)
        else outcomes
    )


def _accepted(
    exercise: Exercise, answer: Answer, outcomes: list[Outcome], drawn: Draws, compiling: bool
) -> list[Outcome]:
    """Outcomes that all pass, after other numbers and, for a kernel, after what a GPU would say of it.

    While kernels are `compiling` for the GPU that is here, what can be known before is computed.
    """
    kernel = exercise.kind is Kind.KERNEL
    gpu_acceptance.start_front_end(exercise, answer)
    with gpu_fit.asking(exercise, answer, drawn) if kernel else contextlib.nullcontext() as fitting:
        second = _second_draw(exercise, answer, outcomes)
        if second is not None:
            return [*outcomes, second]
        if kernel:
            again = functools.partial(run_observed, exercise, answer)
            outcomes = gpu_acceptance.examine(outcomes, again)
            if compiling and device.has_gpu():
                drawn.learn_roundings(tf32=has_caution(outcomes, TF32))
                speed.ready_peers(exercise, answer)
            outcomes = gpu_acceptance.apply_refusals(answer, outcomes)
        return gpu_fit.with_cautions(exercise, outcomes, fitting)


def _launch_inputs(exercise: Exercise, drawn: Draws) -> list[Inputs]:
    """All inputs with which the answer will be launched compiled."""
    timed = [exercise.timed.case] if exercise.timed.case is not None else []
    return fitting_inputs(drawn, [case for case in (*exercise.cases, *timed) if case.compiled])


def exceeds_budget(case: Case, outcomes: list[Outcome]) -> bool:
    """True for a case that would take the run beyond ACCESS_BUDGET, extrapolated from the cases so far.

    A slow kernel that has failed often enough skips its longest cases: they would only delay the verdict.
    Small cases still run, whatever they test.
    """
    wrong = sum(o.status is not Status.PASS for o in outcomes)
    if wrong < MIN_FAILURES:
        return False
    spent = sum(o.observation.accesses for o in outcomes if o.observation is not None)
    if spent < ACCESS_BUDGET / 2:
        return False
    return spent + spent / sum(_size(o.case) for o in outcomes) * _size(case) > ACCESS_BUDGET


def _too_long(exercise: Exercise, case: Case, outcomes: list[Outcome], taken: float) -> Outcome:
    first = "The first case" if len(outcomes) == 1 else f"The first {len(outcomes)} cases"
    sentence = (
        f"{first} took {taken:.1f} s, and a whole check may take at most "
        f"{CHECK_LIMIT_FACTOR * exercise.judged.time_limit:g} s, so it was stopped."
    )
    return Outcome(case, Status.TIMEOUT, sentence)


def _size(case: Case) -> int:
    return math.prod(max(size, 1) for size in case.sizes.values())


def has_caution(outcomes: list[Outcome], kind: str) -> bool:
    """True if a caution of this kind was raised in any case."""
    return any(getattr(caution, "kind", "") == kind for o in outcomes for caution in o.warnings)


def run_observed(
    exercise: Exercise,
    answer: Answer | Callable[..., Any],
    case: Case,
    undefined: float = math.nan,
    fresh: float = math.nan,
    full_precision: bool | tuple[int, ...] = False,
    drawn: Draw | None = None,
) -> Outcome:
    """One case in the observed interpreter, on the CPU.

    `undefined` fills lanes without `other=`, `fresh` the memory of torch.empty. With `full_precision`, half
    precision is not rounded inside kernels. `drawn` is the case's draw, if it was made already.
    """
    started = time.perf_counter()
    drawn = drawn or Draws(exercise).of(case)
    inputs, truth = drawn.inputs, drawn.truth
    limit = exercise.judged.time_limit
    how = Observed(case.seed, undefined, fresh, full_precision=full_precision, limit=limit)
    evidence = answering(exercise, answer).run(inputs, how)
    outcome = _outcome(exercise, case, truth, inputs, evidence)
    return dataclasses.replace(outcome, seconds=time.perf_counter() - started)


def _outcome(exercise: Exercise, case: Case, truth: Truth, inputs: Inputs, evidence: Evidence) -> Outcome:
    """The verdict on one call, with what was observed of it."""
    outcome = _judge(exercise, case, truth, inputs, evidence)
    observation = evidence.observation
    if observation is None:
        return outcome
    if outcome.status is not Status.WRONG:
        observation.unread.clear()  # only read where something is wrong
    return dataclasses.replace(outcome, observation=observation, warnings=tuple(observation.warnings))


def _judge(exercise: Exercise, case: Case, truth: Truth, inputs: Inputs, evidence: Evidence) -> Outcome:
    """Right or wrong, from what one call gave."""
    if evidence.raised is None and exercise.judged.read is not None:
        evidence = _with_readings(exercise, inputs, evidence)
    if evidence.raised is not None:
        error = evidence.raised
        like = without_numbers(error.sentence)
        return Outcome(case, error.status, error.sentence, place=error.place, fault=error.fault, like=like)
    if evidence.race is not None:
        race = evidence.race
        fault = ("race", *race.fault, _memory_owner(exercise, race))
        like = without_numbers(race.sentence)
        return Outcome(case, Status.RACE, race.sentence, place=race.place, fault=fault, like=like)
    outputs = evidence.outputs
    if evidence.returned is None or len(outputs) != len(exercise.outputs):
        sentence = count_sentence(exercise, evidence.returned, outputs)
        return Outcome(
            case, Status.WRONG, sentence, fault=("launcher", count_mismatch(exercise, evidence.returned))
        )
    checks = tuple(truth.judge(i, out.value, writers=out.writers) for i, out in enumerate(outputs))
    fault, sentence = side_effects(exercise, evidence)
    if fault:
        return Outcome(case, Status.WRONG, sentence, outputs=checks, fault=fault)
    if not all(check.ok for check in checks):
        sentence = (
            exercise.judged.says(case) if exercise.judged.says is not None else mismatch_sentence(checks)
        )
        return Outcome(case, Status.WRONG, sentence, outputs=checks)
    status, sentence, place = (Status.PASS, "", None)
    if exercise.kind is Kind.KERNEL:
        status, sentence, place = check_authorship(exercise, inputs, evidence)
    return Outcome(case, status, sentence, outputs=checks, place=place)


def _with_readings(exercise: Exercise, inputs: Inputs, evidence: Evidence) -> Evidence:
    """The evidence with the outputs that the exercise's `read` extracts from the returned value."""
    try:
        with deadline(exercise.judged.time_limit):
            value = exercise.judged.read(evidence.returned, inputs)
    except (TypeError, ValueError, TimeLimit) as error:  # says why the answer cannot be read
        raised = describe_exception(error, exercise.judged.time_limit, exercise.judged.read)
        return dataclasses.replace(evidence, raised=dataclasses.replace(raised, place=None))
    outputs = tuple(map(Output, as_tuple(value)))
    return dataclasses.replace(evidence, returned=value, outputs=outputs)


def _memory_owner(exercise: Exercise, race: ObservedRace) -> str:
    """The output or input that owns the memory, by name; "scratch" if neither does."""
    if isinstance(race.owner, str):
        return race.owner
    return exercise.outputs[race.owner] if race.owner < len(exercise.outputs) else "scratch"


def _second_draw(exercise: Exercise, answer: Answer, outcomes: list[Outcome]) -> Outcome | None:
    """The first case again with other numbers, which exposes a cached answer; None if it passes."""
    first = outcomes[0]
    case = dataclasses.replace(first.case, seed=first.case.seed + SECOND_DRAW_SEED)
    if same_inputs(exercise, first.case, case):
        return None
    inputs = exercise.inputs(case, case.generator())
    evidence = answer.run(inputs, Observed(case.seed, limit=exercise.judged.time_limit))
    again = _outcome(exercise, case, Truth(exercise, inputs), inputs, evidence)
    if again.status is Status.PASS:
        return None
    sentence = _stale_sentence(exercise, first, again, evidence)
    renamed = dataclasses.replace(case, name=f"{case.name}, other numbers")
    fault = ("stale answer",) if sentence else again.fault
    return dataclasses.replace(again, case=renamed, message=sentence or again.message, fault=fault)


def _stale_sentence(exercise: Exercise, first: Outcome, again: Outcome, evidence: Evidence) -> str:
    """A sentence if the second call returned an earlier answer, or wrote into its memory; else nothing."""
    both = list(zip(again.outputs, first.outputs, strict=True)) if again.outputs else []
    if both and all(isinstance(a.got, torch.Tensor) and same(a.got, b.got) for a, b in both):
        return "The second call returned the first call's answer, although its inputs differ."
    wrong = zip(exercise.outputs, evidence.outputs, again.outputs, strict=False)
    for name, out, check in wrong:
        if out.kept and not check.ok:
            return f"{name} is memory that an earlier call already returned, and its new values are wrong."
    return ""


def same_inputs(exercise: Exercise, one: Case, other: Case) -> bool:
    """True if two draws are equal: then the second proves nothing."""
    a = exercise.inputs(one, one.generator())
    b = exercise.inputs(other, other.generator())
    return all(
        same(a[name], b[name]) if isinstance(a[name], torch.Tensor) else a[name] == b[name] for name in a
    )


def _refuse(exercise: Exercise, answer: Answer) -> Outcome | None:
    case, facts = exercise.cases[0], answer.facts()
    if facts.kernel:
        sentence = (
            f"This is a @triton.jit kernel; check expects the launcher {exercise.name}{exercise.signature}, "
            "the plain function that allocates the output and launches the kernel."
        )
        return Outcome(case, Status.CRASHED, sentence)
    if not facts.callable:
        sentence = f"check expects the function itself, {exercise.name}, not {facts.text:.60}."
        return Outcome(case, Status.CRASHED, sentence)
    misfit = answer.misfit(exercise.name, exercise.parameters())
    return Outcome(case, Status.CRASHED, misfit) if misfit else None
