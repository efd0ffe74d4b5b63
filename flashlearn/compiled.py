"""The compiled half of a check, on a CUDA GPU: guarded buffers, poisoned outputs, repeated runs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from triton.runtime.jit import JITFunction

from flashlearn.comparing import bits, call, count_sentence, wrong_sentence
from flashlearn.exercise import Case, Exercise, Inputs
from flashlearn.failures import failure
from flashlearn.observe.deadline import deadline
from flashlearn.observe.launcher import LauncherWatch, fill_poison
from flashlearn.outcome import Outcome, Status
from flashlearn.tolerance import Truth, as_tuple, misfit_kind
from flashlearn.warming import Warming

GUARD = 4096  # elements on each side of a buffer
PATTERN = 0xA5
REHEARSAL = 5.0  # seconds for a launcher whose kernels do nothing: one may wait for what they do


class GuardedWatch(LauncherWatch):
    """Puts guard zones around everything the launcher allocates empty on the GPU."""

    def __init__(self) -> None:
        super().__init__(memory=None)
        self.buffers: list[tuple[str, torch.Tensor, int, int]] = []

    def allocate(self, func, args, kwargs) -> torch.Tensor:
        out = func(*args, **kwargs)
        return self.guard(out, "an output") if out.device.type == "cuda" and out.numel() else out

    def guard(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        """A tensor of the same shape and strides in the middle of a larger, patterned buffer."""
        span, size = _span(tensor), tensor.element_size()
        whole = torch.full(((span + 2 * GUARD) * size,), PATTERN, dtype=torch.uint8, device="cuda")
        self.buffers.append((name, whole, GUARD * size, (GUARD + span) * size))
        return whole.view(tensor.dtype).as_strided(tensor.shape, tensor.stride(), GUARD)

    def copy(self, tensor: torch.Tensor, name: str) -> torch.Tensor:
        """A guarded copy that keeps the strides, also where elements share memory (stride 0)."""
        guarded = self.guard(tensor, name)
        there = guarded.as_strided((_span(tensor),), (1,), guarded.storage_offset())
        there.copy_(tensor.as_strided((_span(tensor),), (1,), tensor.storage_offset()))
        return guarded

    def trespass(self) -> str:
        """A sentence if a guard zone was written, else nothing."""
        for name, whole, low, high in self.buffers:
            before = int((whole[:low] != PATTERN).sum())
            after = int((whole[high:] != PATTERN).sum())
            if before or after:
                side = "before the start" if before else "past the end"
                return f"Compiled, the kernel wrote {before + after} bytes {side} of {name}."
        return ""


class ZeroedWatch(GuardedWatch):
    """For a rehearsal: what no kernel fills holds zeros, which are an index like any other."""

    def poison(self, out: torch.Tensor) -> None:
        out.zero_()


def run_compiled(
    exercise: Exercise, function: Callable, tf32: bool = False, to_the_end: bool = False
) -> list[Outcome]:
    """Every case on the GPU. Stops at the first that fails (the context may be lost), unless `to_the_end`.

    With `tf32` (the observed run saw fp32 products in TF32) results are held to plain torch's in TF32.
    """
    outcomes: list[Outcome] = []
    draws = rehearse(exercise, function)
    for case, inputs in zip(exercise.cases, draws, strict=True):
        outcomes.append(_run_case(exercise, function, case, inputs, tf32))
        if outcomes[-1].status is not Status.PASS and not to_the_end:
            break
    return outcomes


def rehearse(exercise: Exercise, function: Callable) -> list[Inputs]:
    """Draw every case's inputs, and compile what the launcher launches for them, many kernels at a time."""
    draws: list[Inputs] = []
    rehearsal = min(REHEARSAL, exercise.time_limit)
    with Warming(patience=exercise.time_limit) as warming:
        for case in exercise.cases:
            draws.append(exercise.inputs(case, case.generator()))
            watch = ZeroedWatch()
            try:
                given = _guarded(draws[-1], watch)  # as in the run to come: strides and alignment count
                with warming.dry(), watch, deadline(rehearsal, wall=rehearsal):
                    call(exercise, function, given)
            except KeyboardInterrupt:
                raise
            except BaseException:  # whatever it is, the run to come meets it again and says so in full
                continue
    return draws


def _run_case(exercise: Exercise, function: Callable, case: Case, inputs: Inputs, tf32: bool) -> Outcome:
    started = time.perf_counter()
    truth = Truth(exercise, _on(inputs, "cuda") if case.gpu else inputs, tf32)
    outputs: list[tuple] = []
    for _ in range(2):
        watch = GuardedWatch()
        given = _guarded(inputs, watch)
        try:
            with counting_launches() as launches, watch, deadline(exercise.time_limit):
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
        outputs.append(returned)
    return _verdict(exercise, case, truth, outputs, launches, time.perf_counter() - started)


def _written(out: Any) -> dict[str, torch.Tensor]:
    """Which elements still hold what torch.empty's memory was filled with: −1 where nobody wrote, else 0.

    A GPU's own NaN have other bits than the filler's.
    """
    if (
        not isinstance(out, torch.Tensor)
        or misfit_kind(out)
        or not out.is_floating_point()
        or not out.numel()
    ):
        return {}
    filler = torch.empty(1, dtype=out.dtype, device=out.device)
    fill_poison(filler)
    untouched = bits(out) == bits(filler)
    return {"writers": -untouched.long().cpu()} if bool(untouched.any()) else {}


def _verdict(
    exercise, case: Case, truth: Truth, runs: list[tuple], launches: list, seconds: float
) -> Outcome:
    first, second = runs
    if len(first) != len(exercise.outputs):
        sentence = count_sentence(exercise, first, first)
        return Outcome(case, Status.WRONG, sentence, seconds=seconds, mode="compiled")
    checks = tuple(truth.judge(i, out, **_written(out)) for i, out in enumerate(first))
    if not all(check.ok for check in checks):
        sentence = f"Compiled for the GPU, {wrong_sentence(checks)}"
        return Outcome(case, Status.WRONG, sentence, outputs=checks, seconds=seconds, mode="compiled")
    if not exercise.atomics:
        for name, a, b in zip(exercise.outputs, first, second, strict=True):
            if not torch.equal(bits(a), bits(b)):
                sentence = f"{name} changes from run to run with the same inputs."
                return Outcome(case, Status.RACE, sentence, outputs=checks, seconds=seconds, mode="compiled")
    if not launches:
        return Outcome(case, Status.NOT_YOURS, "No kernel was launched on the GPU.", mode="compiled")
    return Outcome(case, Status.PASS, outputs=checks, seconds=seconds, mode="compiled")


@contextlib.contextmanager
def counting_launches() -> Iterator[list[str]]:
    """Names of the kernels launched inside the block."""
    names: list[str] = []
    original = JITFunction.run

    def run(self, *args: Any, **kwargs: Any) -> Any:
        if not kwargs.get("warmup"):
            names.append(self.fn.__name__)
        return original(self, *args, **kwargs)

    JITFunction.run = run
    try:
        yield names
    finally:
        JITFunction.run = original


def _span(tensor: torch.Tensor) -> int:
    """Elements from the first to the last that a tensor reaches, gaps included."""
    return 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))


def _on(inputs: Inputs, device: str) -> Inputs:
    return {n: v.to(device) if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}


def _guarded(inputs: Inputs, watch: GuardedWatch) -> Inputs:
    given = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.numel():
            value = watch.copy(value, f"the input {name}")
        given[name] = value
    return given
