"""Run a learner's launcher over an exercise's cases: observed first, then compiled where a GPU is.

Observed means in the interpreter with every access checked. A kernel is launched for real only
after all observed cases have passed: a stray store on a GPU would cost the learner the session.
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
from flashlearn.judging import front_end, gpu_cautions
from flashlearn.judging.authorship import who_did_it
from flashlearn.judging.compiled_cases import run_compiled
from flashlearn.judging.draws import Draw, Draws
from flashlearn.judging.return_values import but_for_figures, count_sentence, harm, miscounted, wrong_sentence
from flashlearn.judging.tolerance import Truth
from flashlearn.machine import device
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer, answering
from flashlearn.running.copies import same
from flashlearn.running.crashes import raised
from flashlearn.running.evidence import Evidence, ObservedRace, Output
from flashlearn.running.plain_data import as_tuple
from flashlearn.running.run_modes import Observed

STOPS = (Status.TODO, Status.TIMEOUT)
SECOND_DRAW = 7919
WHOLE = 3
"""All cases together may take so many times the limit of one."""
HURRY = 1_700
"""Accesses to memory after which a kernel that is wrong need not show that in every case.

They are what an observed run spends its time on, and the same on every machine.
"""
ENOUGH = 5
"""So many cases must have failed by then."""


def run(
    exercise: Exercise,
    answer: Answer | Callable[..., Any],
    compiled: bool | None = None,
    watching: Callable[[Case], None] = lambda case: None,
) -> list[Outcome]:
    """Outcomes of every case, in order; a stub or a time limit ends the run early.

    Of a slow kernel that is wrong in many cases, those that would take longest are left out.
    `compiled` says whether passing kernels go on to the GPU (default: if there is one). `watching` is told
    each case before it begins.
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
    with contextlib.ExitStack() as beside:
        outcomes = _observed(exercise, answer, drawn, watching, beside)
        if all(o.status is Status.PASS for o in outcomes):
            outcomes += run_compiled(exercise, answer, tf32=seen(outcomes, TF32), drawn=drawn)
        return outcomes


def _observed(
    exercise: Exercise,
    answer: Answer,
    drawn: Draws,
    watching: Callable[[Case], None],
    beside: contextlib.ExitStack | None = None,
) -> list[Outcome]:
    """The observed cases. Where there is a `beside`, kernels are compiled there once the first has passed."""
    outcomes: list[Outcome] = []
    may_hurry = exercise.kind is Kind.KERNEL and exercise.explained.explain is None
    begun = answer.taken
    for case in exercise.cases:
        if case.gpu or (may_hurry and leaves_out(case, outcomes)):
            continue
        if (taken := answer.taken - begun) > WHOLE * exercise.judged.time_limit:
            return [*outcomes, _too_long(exercise, case, outcomes, taken)]
        watching(case)
        outcomes.append(run_observed(exercise, answer, case, drawn=drawn.of(case)))
        if outcomes[-1].status in STOPS:
            return outcomes
        if beside is not None and len(outcomes) == 1 and outcomes[0].status is Status.PASS:
            beside.enter_context(answer.compiling(_launched_for(exercise, drawn)))
    if all(o.status is Status.PASS for o in outcomes):
        front_end.begin(exercise, answer)
        second = _second_draw(exercise, answer, outcomes)
        outcomes += [second] if second is not None else []
    passed = all(o.status is Status.PASS for o in outcomes)
    if passed and exercise.kind is Kind.KERNEL:
        again = functools.partial(run_observed, exercise, answer)
        outcomes = front_end.decide(answer, gpu_cautions.examine(exercise, answer, outcomes, again))
    return outcomes


def _launched_for(exercise: Exercise, drawn: Draws) -> list[Inputs]:
    """All inputs with which the answer will be launched for real."""
    timed = [exercise.timed.case] if exercise.timed.case is not None else []
    return [drawn.inputs(case) for case in (*exercise.cases, *timed) if case.compiled]


def leaves_out(case: Case, outcomes: list[Outcome]) -> bool:
    """True for a case that would take the run beyond HURRY accesses, by those that the others took.

    A kernel that is slow and has been wrong often enough is spared the cases that take longest: whoever
    waits for a verdict has nothing from them. Small cases, whatever they are about, still run.
    """
    wrong = sum(o.status is not Status.PASS for o in outcomes)
    if wrong < ENOUGH:
        return False
    spent = sum(o.observation.accesses for o in outcomes if o.observation is not None)
    if spent < HURRY / 2:
        return False
    return spent + spent / sum(_size(o.case) for o in outcomes) * _size(case) > HURRY


def _too_long(exercise: Exercise, case: Case, outcomes: list[Outcome], taken: float) -> Outcome:
    first = "The first case" if len(outcomes) == 1 else f"The first {len(outcomes)} cases"
    sentence = (
        f"{first} took {taken:.1f} s, and a whole check may take "
        f"{WHOLE * exercise.judged.time_limit:g} s, so it was stopped."
    )
    return Outcome(case, Status.TIMEOUT, sentence)


def _size(case: Case) -> int:
    return math.prod(max(size, 1) for size in case.sizes.values())


def seen(outcomes: list[Outcome], kind: str) -> bool:
    """True if a caution of this kind was raised in any case."""
    return any(getattr(caution, "kind", "") == kind for o in outcomes for caution in o.warnings)


def run_observed(
    exercise: Exercise,
    answer: Answer | Callable[..., Any],
    case: Case,
    undefined: float = math.nan,
    fresh: float = math.nan,
    unrounded: bool | tuple[int, ...] = False,
    drawn: Draw | None = None,
) -> Outcome:
    """One case in the observed interpreter, on the CPU.

    `undefined` is for lanes without `other=`, `fresh` for the memory of torch.empty. With `unrounded` half
    precision loses nothing inside kernels. `drawn` are the case's inputs, where somebody has them.
    """
    started = time.perf_counter()
    drawn = drawn or Draws(exercise).of(case)
    inputs, truth = drawn.inputs, drawn.truth
    limit = exercise.judged.time_limit
    how = Observed(case.seed, undefined, fresh, unrounded=unrounded, limit=limit)
    evidence = answering(exercise, answer).run(inputs, how)
    outcome = _outcome(exercise, case, truth, inputs, evidence)
    return dataclasses.replace(outcome, seconds=time.perf_counter() - started)


def _outcome(exercise: Exercise, case: Case, truth: Truth, inputs: Inputs, evidence: Evidence) -> Outcome:
    """The verdict on one call, with what was observed of it."""
    outcome = _judged(exercise, case, truth, inputs, evidence)
    observation = evidence.observation
    if observation is None:
        return outcome
    if outcome.status is not Status.WRONG:
        observation.unread.clear()  # asked for where something is wrong
    return dataclasses.replace(outcome, observation=observation, warnings=tuple(observation.warnings))


def _judged(exercise: Exercise, case: Case, truth: Truth, inputs: Inputs, evidence: Evidence) -> Outcome:
    """Right or wrong, from what one call gave."""
    if evidence.raised is None and exercise.judged.read is not None:
        evidence = _read(exercise, inputs, evidence)
    if evidence.raised is not None:
        error = evidence.raised
        like = but_for_figures(error.sentence)
        return Outcome(case, error.status, error.sentence, place=error.place, fault=error.fault, like=like)
    if evidence.race is not None:
        race = evidence.race
        fault = ("race", *race.fault, _owner(exercise, race))
        like = but_for_figures(race.sentence)
        return Outcome(case, Status.RACE, race.sentence, place=race.place, fault=fault, like=like)
    outputs = evidence.outputs
    if evidence.returned is None or len(outputs) != len(exercise.outputs):
        sentence = count_sentence(exercise, evidence.returned, outputs)
        return Outcome(
            case, Status.WRONG, sentence, fault=("launcher", miscounted(exercise, evidence.returned))
        )
    checks = tuple(truth.judge(i, out.value, writers=out.writers) for i, out in enumerate(outputs))
    fault, sentence = harm(exercise, evidence)
    if fault:
        return Outcome(case, Status.WRONG, sentence, outputs=checks, fault=fault)
    if not all(check.ok for check in checks):
        sentence = exercise.judged.says(case) if exercise.judged.says is not None else wrong_sentence(checks)
        return Outcome(case, Status.WRONG, sentence, outputs=checks)
    status, sentence, place = (Status.PASS, "", None)
    if exercise.kind is Kind.KERNEL:
        status, sentence, place = who_did_it(exercise, inputs, evidence)
    return Outcome(case, status, sentence, outputs=checks, place=place)


def _read(exercise: Exercise, inputs: Inputs, evidence: Evidence) -> Evidence:
    """The evidence with what the exercise reads out of what was returned, where outputs are not just that."""
    try:
        with deadline(exercise.judged.time_limit):
            value = exercise.judged.read(evidence.returned, inputs)
    except (TypeError, ValueError, TimeLimit) as error:  # its sentence about an answer that cannot be read
        return dataclasses.replace(
            evidence, raised=raised(error, exercise.judged.time_limit, exercise.judged.read)
        )
    outputs = tuple(map(Output, as_tuple(value)))
    return dataclasses.replace(evidence, returned=value, outputs=outputs)


def _owner(exercise: Exercise, race: ObservedRace) -> str:
    """Whose memory it is: that of an output or an input, by name, or of neither: "scratch"."""
    if isinstance(race.owner, str):
        return race.owner
    return exercise.outputs[race.owner] if race.owner < len(exercise.outputs) else "scratch"


def _second_draw(exercise: Exercise, answer: Answer, outcomes: list[Outcome]) -> Outcome | None:
    """The first case again with other numbers: a remembered answer would show."""
    first = outcomes[0]
    case = dataclasses.replace(first.case, seed=first.case.seed + SECOND_DRAW)
    if same_inputs(exercise, first.case, case):
        return None
    inputs = exercise.inputs(case, case.generator())
    evidence = answer.run(inputs, Observed(case.seed, limit=exercise.judged.time_limit))
    again = _outcome(exercise, case, Truth(exercise, inputs), inputs, evidence)
    if again.status is Status.PASS:
        return None
    sentence = _stale(exercise, first, again, evidence)
    renamed = dataclasses.replace(case, name=f"{case.name}, other numbers")
    fault = ("stale answer",) if sentence else again.fault
    return dataclasses.replace(again, case=renamed, message=sentence or again.message, fault=fault)


def _stale(exercise: Exercise, first: Outcome, again: Outcome, evidence: Evidence) -> str:
    """A sentence if the second call's answer was kept from an earlier one, or lies in memory that was."""
    both = list(zip(again.outputs, first.outputs, strict=True)) if again.outputs else []
    if both and all(isinstance(a.got, torch.Tensor) and same(a.got, b.got) for a, b in both):
        return "The second call gave the first call's answer, though its inputs differ."
    wrong = zip(exercise.outputs, evidence.outputs, again.outputs, strict=False)
    for name, out, check in wrong:
        if out.kept and not check.ok:
            return f"{name} is the memory that an earlier call returned, and the second time it is wrong."
    return ""


def same_inputs(exercise: Exercise, one: Case, other: Case) -> bool:
    """True if two draws are equal: then a second one proves nothing."""
    a = exercise.inputs(one, one.generator())
    b = exercise.inputs(other, other.generator())
    return all(
        same(a[name], b[name]) if isinstance(a[name], torch.Tensor) else a[name] == b[name] for name in a
    )


def _refuse(exercise: Exercise, answer: Answer) -> Outcome | None:
    case, facts = exercise.cases[0], answer.facts()
    if facts.kernel:
        sentence = (
            f"This is a @triton.jit kernel; check wants the launcher {exercise.name}{exercise.signature}, "
            "the plain function that allocates the output and launches the kernel."
        )
        return Outcome(case, Status.CRASHED, sentence)
    if not facts.callable:
        sentence = f"check wants the function itself, {exercise.name}, not {facts.text:.60}."
        return Outcome(case, Status.CRASHED, sentence)
    misfit = answer.misfit(exercise.name, exercise.parameters())
    return Outcome(case, Status.CRASHED, misfit) if misfit else None
