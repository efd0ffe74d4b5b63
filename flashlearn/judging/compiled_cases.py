"""The compiled half of a check, on a CUDA GPU: every case twice, in guarded memory."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from flashlearn.exercise import Case, Exercise, Inputs
from flashlearn.interpreter.cautions import SMALL_GPU, TOO_LARGE
from flashlearn.judging import gpu_fit
from flashlearn.judging.draws import Draws
from flashlearn.judging.gpu_fit import TooLarge
from flashlearn.judging.return_values import (
    count_mismatch,
    count_sentence,
    mismatch_sentence,
    side_effects,
)
from flashlearn.judging.similar_sentences import without_numbers
from flashlearn.judging.tolerance import Truth
from flashlearn.machine import memory
from flashlearn.outcome import Caution, Outcome, Status
from flashlearn.running.answer import Answer, answering
from flashlearn.running.evidence import Evidence
from flashlearn.running.run_modes import Compiled
from flashlearn.running.values import bits


@dataclass(frozen=True)
class Unfit:
    """A case that the GPU is too small for: for its memory, or for a kernel that is `too_large`."""

    case: Case
    too_large: TooLarge | None = None


FAIR_SHARE = 6
"""A launcher may need as many bytes as its inputs, this many times: a smaller GPU is not its fault."""


def run_compiled(
    exercise: Exercise,
    answer: Answer | Callable,
    tf32: bool = False,
    run_all: bool = False,
    drawn: Draws | None = None,
    unfit: list[Unfit] | None = None,
) -> list[Outcome]:
    """Every case with `compiled` on the GPU, up to the first that fails; with `run_all`, every one.

    After a failure the context may be lost. With `tf32` (the observed run saw fp32 products in TF32) results
    are held to plain torch's in TF32. `drawn` are the draws of the observed run. Cases for which the GPU's
    memory is too small have no outcome, and are added to `unfit`; so are those whose blocks need more shared
    memory than a block has.
    """
    answer, drawn = answering(exercise, answer), drawn or Draws(exercise)
    outcomes: list[Outcome] = []
    cases = [case for case in exercise.cases if case.compiled]
    with answer.prepared(fitting_inputs(drawn, cases), exercise.judged.time_limit):
        for case in cases:
            outcome, fits = memory.attempt(functools.partial(_run_case, exercise, answer, case, drawn, tf32))
            drawn.forget(case)
            if not fits or isinstance(outcome, Unfit):
                unfit += [outcome if fits else Unfit(case)] if unfit is not None else []
                continue
            outcomes.append(outcome)
            if outcome.status is not Status.PASS and not run_all:
                break
    return outcomes


def fitting_inputs(drawn: Draws, cases: Iterable[Case]) -> list[Inputs]:
    """The inputs of those cases for whose inputs there is memory."""
    found = (memory.attempt(functools.partial(drawn.inputs, case)) for case in cases)
    return [inputs for inputs, fits in found if fits]


def unfit_cautions(unfit: Sequence[Unfit], known: Sequence[Caution] = ()) -> tuple[Caution, ...]:
    """That these cases did not run on the GPU, and why, unless a caution that is `known` says that."""
    explained = {kernel for kernel in _kernels(unfit) if any(_names(one, kernel) for one in known)}
    found = []
    for kernel in _kernels(unfit):
        first, cases = next(one for one in unfit if _kernel(one) == kernel), _cases(unfit, kernel)
        if first.too_large is None:
            what = f"this GPU's {memory.in_gib(memory.free_memory())} of free memory is too little for"
            why = f", since {what} {'them' if len(cases) > 1 else 'it'}"
            found.append(Caution(SMALL_GPU, _left_out(cases, why)))
            continue
        found += [] if kernel in explained else [first.too_large.caution]
        found.append(Caution(TOO_LARGE, _left_out(cases, " on this GPU")))
    return tuple(found)


def _left_out(cases: Sequence[Case], more: str) -> str:
    names = [case.name for case in cases]
    if len(names) == 1:
        return f"The case {names[0]} was not run{more}."
    return f"{len(names)} cases were not run{more}: {'; '.join(names)}."


def _kernels(unfit: Sequence[Unfit]) -> list[str | None]:
    return list(dict.fromkeys(map(_kernel, unfit)))


def _kernel(one: Unfit) -> str | None:
    return one.too_large.kernel if one.too_large is not None else None


def _cases(unfit: Sequence[Unfit], kernel: str | None) -> list[Case]:
    return [one.case for one in unfit if _kernel(one) == kernel]


def _names(caution: Caution, kernel: str | None) -> bool:
    """Whether a caution says that this kernel does not fit."""
    return caution.kind == TOO_LARGE and kernel is not None and f"block of {kernel} needs" in caution.sentence


def _run_case(exercise: Exercise, answer: Answer, case: Case, draws: Draws, tf32: bool) -> Outcome | Unfit:
    """The outcome; or that the GPU is too small for what the launcher may need."""
    started = time.perf_counter()
    runs: list[Evidence] = []
    inputs = draws.inputs(case)
    for _ in range(2):
        runs.append(answer.run(inputs, Compiled(exercise.judged.time_limit)))
        ended = _failed_outcome(case, runs[-1])
        if ended is not None:
            if _ran_out(runs[-1]):
                memory.release()
            if (too_large := gpu_fit.raised(case, runs[-1])) is not None:
                return Unfit(case, too_large)
            return Unfit(case) if _asked_little(inputs, runs[-1]) else ended
    outcome = _compare(exercise, case, draws.of(case, tf32).truth, *runs)  # not before the launcher has run
    launched = tuple(runs[0].observation.launches)
    seconds = time.perf_counter() - started
    return dataclasses.replace(outcome, seconds=seconds, mode="compiled", compiled_launches=launched)


def _ran_out(evidence: Evidence) -> bool:
    """Whether a call ended since the GPU's memory was too small."""
    return evidence.raised is not None and evidence.raised.kind == "OutOfMemoryError"


def _asked_little(inputs: Inputs, evidence: Evidence) -> bool:
    """Whether a call ended for want of memory, though it asked for no more than a right answer may."""
    wanted = evidence.raised.wanted if evidence.raised is not None else 0
    given = sum(value.nbytes for value in inputs.values() if isinstance(value, torch.Tensor))
    return 0 < wanted <= FAIR_SHARE * given


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
