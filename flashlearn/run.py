"""Run a learner's launcher over an exercise's cases: observed first, then compiled where a GPU is.

Observed means in the interpreter with every access checked. A kernel is launched for real only
after all observed cases have passed: a stray store on a GPU would cost the learner the session.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import torch

from flashlearn import device
from flashlearn.comparing import call, clone_storages, count_sentence, same, wrong_sentence
from flashlearn.compiled import run_compiled
from flashlearn.exercise import Case, Exercise, Inputs, Kind
from flashlearn.failures import failure
from flashlearn.observe.deadline import deadline
from flashlearn.observe.errors import TimeLimit
from flashlearn.observe.launcher import LauncherWatch
from flashlearn.observe.route import observing
from flashlearn.observe.session import Session
from flashlearn.outcome import Outcome, Status
from flashlearn.tolerance import Truth, as_tuple

STOPS = (Status.TODO, Status.TIMEOUT)
SECOND_DRAW = 7919


def run(exercise: Exercise, function: Callable, compiled: bool | None = None) -> list[Outcome]:
    """Outcomes of every case, in order; a stub or a time limit ends the run early.

    `compiled` says whether passing kernels go on to the GPU (default: if there is one).
    """
    refusal = _refuse(exercise, function)
    if refusal is not None:
        return [refusal]
    outcomes = []
    for case in exercise.cases:
        if not case.gpu:
            outcomes.append(run_observed(exercise, function, case))
            if outcomes[-1].status in STOPS:
                return outcomes
    if all(o.status is Status.PASS for o in outcomes):
        second = _second_draw(exercise, function, outcomes)
        outcomes += [second] if second is not None else []
    passed = all(o.status is Status.PASS for o in outcomes)
    if passed and exercise.kind is Kind.KERNEL and (device.has_gpu() if compiled is None else compiled):
        outcomes += run_compiled(exercise, function)
    return outcomes


def run_observed(exercise: Exercise, function: Callable, case: Case, undefined: float = math.nan) -> Outcome:
    """One case in the observed interpreter, on the CPU. `undefined` is for lanes without `other=`."""
    started = time.perf_counter()
    inputs = exercise.inputs(case, case.generator())
    truth = Truth(exercise, inputs)
    given = clone_storages(inputs)
    session = watch = None
    try:
        with deadline(exercise.time_limit), observing(case.seed, undefined) as (session, watch):
            returned = call(exercise, function, given)
    except (Exception, TimeLimit) as error:
        status, sentence, place = failure(error, exercise.time_limit, function)
        outcome = Outcome(case, status, sentence, place=place, fault=getattr(error, "fault", ()))
    else:
        outcome = _compare(exercise, case, truth, inputs, given, returned, session, watch)
    observation = session.observation() if session is not None else None
    warnings = tuple(observation.warnings) if observation is not None else ()
    return dataclasses.replace(
        outcome, observation=observation, warnings=warnings, seconds=time.perf_counter() - started
    )


def _compare(
    exercise: Exercise,
    case: Case,
    truth: Truth,
    inputs: Inputs,
    given: Inputs,
    returned: Any,
    session: Session,
    watch: LauncherWatch,
) -> Outcome:
    if session.memory.races.found:
        race = session.memory.races.found[0]
        return Outcome(case, Status.RACE, race.sentence, place=race.place)
    outputs = as_tuple(returned)
    if returned is None or len(outputs) != len(exercise.outputs):
        sentence = count_sentence(exercise, returned, outputs)
        return Outcome(case, Status.WRONG, sentence)
    changed = [name for name in inputs if not same(inputs[name], given[name])]
    checks = tuple(
        truth.judge(i, out, **_writers(out, session)) for i, out in enumerate(outputs)
    )  # fmt: skip
    if changed:
        sentence = f"The launcher changed its input {changed[0]}: inputs must be as they were afterwards."
        return Outcome(case, Status.WRONG, sentence, outputs=checks)
    aliased = _aliased(exercise, outputs, given)
    if aliased:
        return Outcome(case, Status.WRONG, aliased, outputs=checks)
    if not all(check.ok for check in checks):
        return Outcome(case, Status.WRONG, wrong_sentence(checks), outputs=checks)
    status, sentence, place = (Status.PASS, "", None)
    if exercise.kind is Kind.KERNEL:
        status, sentence, place = _whose(exercise, inputs, outputs, session, watch)
    return Outcome(case, status, sentence, outputs=checks, place=place)


def _whose(exercise, inputs, outputs, session: Session, watch: LauncherWatch):
    if watch.forbidden:
        operation, place = watch.forbidden[0]
        sentence = (
            f"The answer is right, but {operation} computed it (or part of it). "
            "Here your own kernel has to: the launcher may allocate, copy, cast and reshape."
        )
        return Status.NOT_YOURS, sentence, place
    if not session.launches:
        return Status.NOT_YOURS, "The answer is right, but no kernel was launched to compute it.", None
    for name, out in zip(exercise.outputs, outputs, strict=True):
        if out.numel() and not _from_kernel(out, session, watch):
            return Status.NOT_YOURS, f"{name} is right, but no kernel stored it: torch computed it.", None
    if exercise.work is not None:
        needed = exercise.work(inputs).operations
        done = sum(session.operations.values())
        if done < needed / 2:
            sentence = (
                f"The answer is right, but your kernels did {done} arithmetic operations where it takes "
                f"about {needed:.0f}: the work was done outside them."
            )
            return Status.NOT_YOURS, sentence, None
    return Status.PASS, "", None


def _from_kernel(out: torch.Tensor, session: Session, watch: LauncherWatch) -> bool:
    key = out.untyped_storage()._cdata
    if key in watch.derived:
        return True
    region = session.memory.by_storage.get(key)
    if region is None:
        return False
    stored = _window(region.stored, out, region.unit)
    if bool(stored.all()):
        return True
    rest = out[~stored]  # memory from torch.zeros that no program had a reason to write
    return key in watch.filled and bool(stored.any()) and bool((rest == rest[0]).all())


def _writers(out: Any, session: Session) -> dict[str, Any]:
    if not isinstance(out, torch.Tensor):
        return {}
    region = session.memory.by_storage.get(out.untyped_storage()._cdata)
    if region is None or not session.launches:
        return {}
    last = torch.maximum(_window(region.writer, out, region.unit), _window(region.atomic, out, region.unit))
    return {"writers": torch.tensor(session.memory.races.numbers)[last]}


def _window(shadow, out: torch.Tensor, unit: int) -> torch.Tensor:
    """A shadow in the shape of `out`: one entry per element."""
    flat = torch.from_numpy(shadow)
    ratio = out.element_size() // unit
    return flat.as_strided(out.shape, [s * ratio for s in out.stride()], out.storage_offset() * ratio)


def _aliased(exercise: Exercise, outputs: tuple, given: Inputs) -> str:
    owners = {t.untyped_storage()._cdata: name for name, t in given.items() if isinstance(t, torch.Tensor)}
    for name, out in zip(exercise.outputs, outputs, strict=True):
        if isinstance(out, torch.Tensor) and out.untyped_storage()._cdata in owners:
            owner = owners[out.untyped_storage()._cdata]
            return f"{name} is the memory of the input {owner}: allocate a fresh tensor for the result."
    return ""


def _second_draw(exercise: Exercise, function: Callable, outcomes: list[Outcome]) -> Outcome | None:
    """The first case again with other numbers: a remembered answer would show."""
    first = outcomes[0]
    case = dataclasses.replace(first.case, seed=first.case.seed + SECOND_DRAW)
    if same_inputs(exercise, first.case, case):
        return None
    again = run_observed(exercise, function, case)
    if again.status is Status.PASS:
        return None
    stale = again.outputs and all(
        isinstance(a.got, torch.Tensor) and same(a.got, b.got)
        for a, b in zip(again.outputs, first.outputs, strict=True)
    )
    sentence = "The second call gave the first call's answer, though its inputs differ." if stale else ""
    renamed = dataclasses.replace(case, name=f"{case.name}, other numbers")
    return dataclasses.replace(again, case=renamed, message=sentence or again.message)


def same_inputs(exercise: Exercise, one: Case, other: Case) -> bool:
    """True if two draws are equal: then a second one proves nothing."""
    a = exercise.inputs(one, one.generator())
    b = exercise.inputs(other, other.generator())
    return all(
        same(a[name], b[name]) if isinstance(a[name], torch.Tensor) else a[name] == b[name] for name in a
    )


def _refuse(exercise: Exercise, function: Any) -> Outcome | None:
    case = exercise.cases[0]
    if hasattr(function, "fn") and hasattr(function, "run"):
        sentence = (
            f"This is a @triton.jit kernel; check wants the launcher {exercise.name}{exercise.signature}, "
            "the plain function that allocates the output and launches the kernel."
        )
        return Outcome(case, Status.CRASHED, sentence)
    if not callable(function):
        sentence = f"check wants the function itself, {exercise.name}, not {function!r:.60}."
        return Outcome(case, Status.CRASHED, sentence)
    return None
