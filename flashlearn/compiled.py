"""The compiled half of a check, on a CUDA GPU: guarded buffers, poisoned outputs, repeated runs."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from triton.runtime.jit import JITFunction

from flashlearn.comparing import (
    CHANGED,
    aliased,
    bits,
    call,
    changed_inputs,
    count_sentence,
    wrong_sentence,
)
from flashlearn.exercise import Case, Exercise, Inputs
from flashlearn.failures import failure
from flashlearn.guards import GuardedWatch, ZeroedWatch, guarded
from flashlearn.observe.arguments import bind, check_grid, describe_launch
from flashlearn.observe.deadline import deadline
from flashlearn.observe.errors import KernelCrash
from flashlearn.observe.observation import Launch
from flashlearn.outcome import Outcome, Status
from flashlearn.tolerance import Truth, as_tuple
from flashlearn.warming import Warming

REHEARSAL = 5.0  # seconds for a launcher whose kernels do nothing: one may wait for what they do


def run_compiled(
    exercise: Exercise, function: Callable, tf32: bool = False, to_the_end: bool = False
) -> list[Outcome]:
    """Every case on the GPU. Stops at the first that fails (the context may be lost), unless `to_the_end`.

    With `tf32` (the observed run saw fp32 products in TF32) results are held to plain torch's in TF32.
    """
    outcomes: list[Outcome] = []
    with Warming(patience=exercise.time_limit) as warming:
        draws = rehearse(exercise, function, warming)
    with warming.refusing():
        for case, inputs in zip(exercise.cases, draws, strict=True):
            outcomes.append(_run_case(exercise, function, case, inputs, tf32))
            if outcomes[-1].status is not Status.PASS and not to_the_end:
                break
    return outcomes


def rehearse(exercise: Exercise, function: Callable, warming: Warming) -> list[Inputs]:
    """Draw every case's inputs, and have compiled what the launcher launches for them."""
    draws: list[Inputs] = []
    rehearsal = min(REHEARSAL, exercise.time_limit)
    for case in exercise.cases:
        draws.append(exercise.inputs(case, case.generator()))
        watch = ZeroedWatch()
        try:
            given = guarded(draws[-1], watch)  # as in the run to come: strides and alignment count
            with warming.dry(), watch, deadline(rehearsal, wall=rehearsal):
                call(exercise, function, given)
        except KeyboardInterrupt:
            raise
        except BaseException:  # whatever it is, the run to come meets it again and says so in full
            continue
    return draws


@dataclass(frozen=True)
class Ran:
    """What one call of the launcher gave: outputs, what nobody wrote of each, launches, harm to the inputs.

    `harm` is the fault's name and a sentence, or two empty strings.
    """

    returned: tuple
    written: list[dict[str, torch.Tensor]]
    launches: list[Launch]
    harm: tuple[str, str]


def _run_case(exercise: Exercise, function: Callable, case: Case, inputs: Inputs, tf32: bool) -> Outcome:
    started = time.perf_counter()
    truth = Truth(exercise, _on(inputs, "cuda") if case.gpu else inputs, tf32)
    runs: list[Ran] = []
    for _ in range(2):
        ran = _call(exercise, function, case, inputs)
        if isinstance(ran, Outcome):
            return ran
        runs.append(ran)
    outcome = _compared(exercise, case, truth, *runs)
    seconds = time.perf_counter() - started
    return dataclasses.replace(outcome, seconds=seconds, mode="compiled", launched=tuple(runs[0].launches))


def _call(exercise: Exercise, function: Callable, case: Case, inputs: Inputs) -> Ran | Outcome:
    """One call in guarded memory; an Outcome if it failed there and then."""
    watch = GuardedWatch()
    given = guarded(inputs, watch)
    try:
        with recording_launches() as launches, watch, deadline(exercise.time_limit):
            returned = as_tuple(call(exercise, function, given))
        torch.cuda.synchronize()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # TimeLimit, SystemExit and whatever else a learner may raise
        status, sentence, place = failure(error, exercise.time_limit, function)
        return Outcome(case, status, sentence, place=place, mode="compiled")
    problem = watch.trespass()
    if problem:
        return Outcome(case, Status.OUT_OF_BOUNDS, problem, mode="compiled")
    harm = _harm(exercise, _on(inputs, "cuda"), given, returned)
    return Ran(returned, [watch.written(out) for out in returned], launches, harm)


def _harm(exercise: Exercise, inputs: Inputs, given: Inputs, returned: tuple) -> tuple[str, str]:
    """What the launcher did to its inputs: the fault's name and a sentence."""
    changed = changed_inputs(inputs, given)
    if changed:
        return "changed input", CHANGED.format(name=changed[0])
    if len(returned) == len(exercise.outputs) and (sentence := aliased(exercise, returned, given)):
        return "returned input", sentence
    return "", ""


def _compared(exercise: Exercise, case: Case, truth: Truth, first: Ran, second: Ran) -> Outcome:
    if len(first.returned) != len(exercise.outputs):
        return Outcome(case, Status.WRONG, count_sentence(exercise, first.returned, first.returned))
    checks = tuple(truth.judge(i, out, **first.written[i]) for i, out in enumerate(first.returned))
    harm, sentence = first.harm if first.harm[0] else second.harm
    if harm:
        return Outcome(case, Status.WRONG, sentence, outputs=checks, fault=(harm,))
    if not all(check.ok for check in checks):
        sentence = f"Compiled for the GPU, {wrong_sentence(checks)}"
        return Outcome(case, Status.WRONG, sentence, outputs=checks)
    if not exercise.atomics:
        for name, a, b in zip(exercise.outputs, first.returned, second.returned, strict=True):
            if not torch.equal(bits(a), bits(b)):
                sentence = f"{name} changes from run to run with the same inputs."
                return Outcome(case, Status.RACE, sentence, outputs=checks)
    if not first.launches:
        return Outcome(case, Status.NOT_YOURS, "No kernel was launched on the GPU.")
    return Outcome(case, Status.PASS, outputs=checks)


@contextlib.contextmanager
def recording_launches() -> Iterator[list[Launch]]:
    """The launches of kernels inside the block, with their grids and constants."""
    launches: list[Launch] = []
    original = JITFunction.run

    def run(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("warmup"):
            launches.append(_launch(self, args, dict(kwargs)))
        return original(self, *args, **kwargs)

    JITFunction.run = run
    try:
        yield launches
    finally:
        JITFunction.run = original


def _launch(kernel: JITFunction, args: tuple, kwargs: dict[str, Any]) -> Launch:
    """The launch as triton will bind it; by name alone where triton will refuse it, and say why."""
    grid = kwargs.pop("grid", (1,))
    kwargs.pop("warmup", None)
    try:
        values, options = bind(kernel.fn, args, kwargs)
        return describe_launch(kernel, kernel.fn, values, check_grid(grid, values), options)
    except KernelCrash:
        return Launch(kernel, kernel.fn.__name__, (1, 1, 1), {}, {}, {})


def _on(inputs: Inputs, device: str) -> Inputs:
    return {n: v.to(device) if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
