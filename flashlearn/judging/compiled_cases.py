"""The compiled half of a check, on a CUDA GPU: every case twice, in guarded memory."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable

import torch

from flashlearn.exercise import Case, Exercise
from flashlearn.judging.draws import Draw, Draws
from flashlearn.judging.return_values import but_for_figures, count_sentence, harm, miscounted, wrong_sentence
from flashlearn.judging.tolerance import Truth
from flashlearn.outcome import Outcome, Status
from flashlearn.running.answer import Answer, answering
from flashlearn.running.copies import bits
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Compiled


def run_compiled(
    exercise: Exercise,
    answer: Answer | Callable,
    tf32: bool = False,
    to_the_end: bool = False,
    drawn: Draws | None = None,
) -> list[Outcome]:
    """Every case with `compiled` on the GPU. Stops at the first that fails, unless `to_the_end`.

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
            if outcomes[-1].status is not Status.PASS and not to_the_end:
                break
    return outcomes


def _run_case(exercise: Exercise, answer: Answer, case: Case, drawn: Draw) -> Outcome:
    started = time.perf_counter()
    runs: list[Evidence] = []
    for _ in range(2):
        runs.append(answer.run(drawn.inputs, Compiled(exercise.judged.time_limit)))
        ended = _ended(case, runs[-1])
        if ended is not None:
            return ended
    outcome = _compared(exercise, case, drawn.truth, *runs)
    launched = tuple(runs[0].observation.launches)
    seconds = time.perf_counter() - started
    return dataclasses.replace(outcome, seconds=seconds, mode="compiled", launched=launched)


def _ended(case: Case, evidence: Evidence) -> Outcome | None:
    """The outcome of a call that failed there and then."""
    if evidence.raised is not None:
        error = evidence.raised
        like = but_for_figures(error.sentence)
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
        like = but_for_figures(evidence.trespass)
        return Outcome(case, Status.OUT_OF_BOUNDS, evidence.trespass, mode="compiled", like=like)
    return None


def _compared(exercise: Exercise, case: Case, truth: Truth, first: Evidence, second: Evidence) -> Outcome:
    if len(first.outputs) != len(exercise.outputs):
        like = ("launcher", miscounted(exercise, first.values))
        return Outcome(case, Status.WRONG, count_sentence(exercise, first.values, first.values), like=like)
    checks = tuple(truth.judge(i, out.value, writers=out.writers) for i, out in enumerate(first.outputs))
    fault, sentence = next(filter(any, (harm(exercise, one) for one in (first, second))), ((), ""))
    if fault:
        return Outcome(case, Status.WRONG, sentence, outputs=checks, fault=fault)
    if not all(check.ok for check in checks):
        sentence = f"Compiled for the GPU, {wrong_sentence(checks)}"
        return Outcome(case, Status.WRONG, sentence, outputs=checks)
    if not exercise.judged.atomics:
        for name, a, b in zip(exercise.outputs, first.values, second.values, strict=True):
            if not torch.equal(bits(a), bits(b)):
                sentence = f"{name} changes from run to run with the same inputs."
                return Outcome(case, Status.RACE, sentence, outputs=checks)
    if not first.observation.launches:
        return Outcome(case, Status.NOT_YOURS, "No kernel was launched on the GPU.")
    return Outcome(case, Status.PASS, outputs=checks)
