"""The compiled half of a check, on a CUDA GPU: every case twice, in guarded memory."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import torch

from flashlearn.exercise import Case, Exercise
from flashlearn.judging.draws import Draw, Draws
from flashlearn.judging.return_values import (
    count_mismatch,
    count_sentence,
    mismatch_sentence,
    side_effects,
    without_numbers,
)
from flashlearn.judging.tolerance import Truth
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer, answering
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Compiled
from flashlearn.running.values import bits


def run_compiled(
    exercise: Exercise,
    answer: Answer | Callable,
    tf32: bool = False,
    run_all: bool = False,
    drawn: Draws | None = None,
) -> list[Outcome]:
    """Every case with `compiled` on the GPU, up to the first that fails; with `run_all`, every one.

    After a failure the context may be lost. With `tf32` (the observed run saw fp32 products in TF32) results
    are held to plain torch's in TF32. `drawn` are the draws of the observed run.
    """
    answer, drawn = answering(exercise, answer), drawn or Draws(exercise)
    outcomes: list[Outcome] = []
    cases = [case for case in exercise.cases if case.compiled]
    given = [drawn.inputs(case) for case in cases]
    with answer.prepared(given, exercise.judged.time_limit):
        for case in cases:
            outcomes.append(_run_case(exercise, answer, case, drawn.of(case, tf32)))
            drawn.forget(case)
            if outcomes[-1].status is not Status.PASS and not run_all:
                break
    return outcomes


def _run_case(exercise: Exercise, answer: Answer, case: Case, drawn: Draw) -> Outcome:
    started = time.perf_counter()
    runs: list[Evidence] = []
    for _ in range(2):
        runs.append(answer.run(drawn.inputs, Compiled(exercise.judged.time_limit)))
        ended = _failed_outcome(case, runs[-1])
        if ended is not None:
            return ended
    outcome = _compare(exercise, case, drawn.truth, *runs)
    launched = tuple(runs[0].observation.launches)
    seconds = time.perf_counter() - started
    return dataclasses.replace(outcome, seconds=seconds, mode="compiled", compiled_launches=launched)


def _failed_outcome(case: Case, evidence: Evidence) -> Outcome | None:
    """The outcome of a call that raised or wrote outside its memory; None if it did neither."""
    if evidence.raised is not None:
        error = evidence.raised
        like = without_numbers(error.sentence)
        return Outcome(
            case,
            error.status,
            error.sentence,
            place=error.place,
            mode="compiled",
            fault=error.fault,
            like=like,
        )
    if evidence.trespass:
        like = without_numbers(evidence.trespass)
        return Outcome(case, Status.OUT_OF_BOUNDS, evidence.trespass, mode="compiled", like=like)
    return None


def _compare(exercise: Exercise, case: Case, truth: Truth, first: Evidence, second: Evidence) -> Outcome:
    if len(first.outputs) != len(exercise.outputs):
        like = ("launcher", count_mismatch(exercise, first.values))
        return Outcome(case, Status.WRONG, count_sentence(exercise, first.values, first.values), like=like)
    checks = tuple(truth.judge(i, out.value, writers=out.writers) for i, out in enumerate(first.outputs))
    fault, sentence = next(filter(any, (side_effects(exercise, one) for one in (first, second))), ((), ""))
    if fault:
        return Outcome(case, Status.WRONG, sentence, outputs=checks, fault=fault)
    if not all(check.ok for check in checks):
        sentence = f"Compiled for the GPU, {mismatch_sentence(checks)}"
        return Outcome(case, Status.WRONG, sentence, outputs=checks)
    if not exercise.judged.atomics:
        for name, a, b in zip(exercise.outputs, first.values, second.values, strict=True):
            if not torch.equal(bits(a), bits(b)):
                sentence = f"{name} changes from run to run with the same inputs."
                return Outcome(case, Status.RACE, sentence, outputs=checks)
    if not first.observation.launches:
        return Outcome(case, Status.NOT_YOURS, "No kernel was launched on the GPU.")
    return Outcome(case, Status.PASS, outputs=checks)
