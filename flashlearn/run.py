"""Run a learner's launcher over an exercise's cases: observed first, then compiled where a GPU is.

Observed means in the interpreter with every access checked. A kernel is launched for real only
after all observed cases have passed: a stray store on a GPU would cost the learner the session.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable
from typing import Any

import torch

from flashlearn import device, elsewhere
from flashlearn.comparing import (
    CHANGED,
    aliased,
    call,
    changed_inputs,
    clone_storages,
    count_sentence,
    same,
    storages,
    wrong_sentence,
)
from flashlearn.compiled import run_compiled
from flashlearn.exercise import Case, Exercise, Inputs, Kind
from flashlearn.failures import failure
from flashlearn.observe.cautions import TF32
from flashlearn.observe.deadline import deadline
from flashlearn.observe.launcher import LauncherWatch
from flashlearn.observe.route import observing
from flashlearn.observe.session import Session
from flashlearn.outcome import Outcome, Status
from flashlearn.slips import call_sentence
from flashlearn.tolerance import Truth, as_tuple, misfit_kind
from flashlearn.whose import who_did_it, window

STOPS = (Status.TODO, Status.TIMEOUT)
SECOND_DRAW = 7919
HURRY = 2.0
"""Seconds of this thread's own time after which a kernel that is wrong need not show that in every case."""
ENOUGH = 5
"""So many cases must have failed by then."""


def run(exercise: Exercise, function: Callable, compiled: bool | None = None) -> list[Outcome]:
    """Outcomes of every case, in order; a stub or a time limit ends the run early.

    Of a slow kernel that is wrong in many cases, those that would take longest are left out.
    `compiled` says whether passing kernels go on to the GPU (default: if there is one).
    """
    refusal = _refuse(exercise, function)
    if refusal is not None:
        return [refusal]
    outcomes: list[Outcome] = []
    hurry = _Hurry() if exercise.kind is Kind.KERNEL and exercise.explain is None else None
    for case in exercise.cases:
        if case.gpu or (hurry is not None and hurry.leaves_out(case, outcomes)):
            continue
        outcomes.append(run_observed(exercise, function, case))
        if outcomes[-1].status in STOPS:
            return outcomes
    if all(o.status is Status.PASS for o in outcomes):
        second = _second_draw(exercise, function, outcomes)
        outcomes += [second] if second is not None else []
    passed = all(o.status is Status.PASS for o in outcomes)
    if passed and exercise.kind is Kind.KERNEL:
        again = functools.partial(run_observed, exercise, function)
        outcomes = elsewhere.examine(exercise, function, outcomes, again)
    if passed and exercise.kind is Kind.KERNEL and (device.has_gpu() if compiled is None else compiled):
        outcomes += run_compiled(exercise, function, tf32=seen(outcomes, TF32))
    return outcomes


class _Hurry:
    """Leaves out the cases that take longest, of a kernel that is slow and has been wrong often enough.

    Whoever waits for a verdict has nothing from them. Small cases, whatever they are about, still run.
    """

    def __init__(self) -> None:
        self.started = time.thread_time()

    def leaves_out(self, case: Case, outcomes: list[Outcome]) -> bool:
        """True if the case would take the run beyond HURRY seconds, by the time that the others took."""
        wrong = sum(o.status is not Status.PASS for o in outcomes)
        if wrong < ENOUGH:
            return False
        spent = time.thread_time() - self.started
        if spent < HURRY / 2:
            return False
        pace = spent / sum(_size(o.case) for o in outcomes)
        return spent + pace * _size(case) > HURRY


def _size(case: Case) -> int:
    return math.prod(max(size, 1) for size in case.sizes.values())


def seen(outcomes: list[Outcome], kind: str) -> bool:
    """True if a caution of this kind was raised in any case."""
    return any(getattr(caution, "kind", "") == kind for o in outcomes for caution in o.warnings)


def run_observed(
    exercise: Exercise,
    function: Callable,
    case: Case,
    undefined: float = math.nan,
    fresh: float = math.nan,
) -> Outcome:
    """One case in the observed interpreter, on the CPU.

    `undefined` is for lanes without `other=`, `fresh` for the memory of torch.empty.
    """
    started = time.perf_counter()
    inputs = exercise.inputs(case, case.generator())
    truth = Truth(exercise, inputs)
    given = clone_storages(inputs)
    session = watch = None
    try:
        with observing(case.seed, undefined, fresh) as (session, watch), deadline(exercise.time_limit):
            watch.given.update(storages(given))
            returned = call(exercise, function, given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # TimeLimit, SystemExit and whatever else a learner may raise
        status, sentence, place = failure(error, exercise.time_limit, function)
        outcome = Outcome(case, status, sentence, place=place, fault=getattr(error, "fault", ()))
    else:
        outcome = _compare(exercise, case, truth, inputs, given, returned, session, watch)
    observation = session.observation() if session is not None else None
    if observation is not None and outcome.status is Status.WRONG:
        observation.unread.update(_unread(given, session))
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
        fault = ("race", *race.fault, _owner(exercise, race.storage, returned, given))
        return Outcome(case, Status.RACE, race.sentence, place=race.place, fault=fault)
    outputs = as_tuple(returned)
    if returned is None or len(outputs) != len(exercise.outputs):
        sentence = count_sentence(exercise, returned, outputs)
        return Outcome(case, Status.WRONG, sentence, fault=("launcher",))
    changed = changed_inputs(inputs, given)
    checks = tuple(
        truth.judge(i, out, **_writers(out, session)) for i, out in enumerate(outputs)
    )  # fmt: skip
    if changed:
        sentence = CHANGED.format(name=changed[0])
        return Outcome(case, Status.WRONG, sentence, outputs=checks, fault=("changed input",))
    returned_input = aliased(exercise, outputs, given)
    if returned_input:
        return Outcome(case, Status.WRONG, returned_input, outputs=checks, fault=("returned input",))
    if not all(check.ok for check in checks):
        sentence = exercise.says(case) if exercise.says is not None else wrong_sentence(checks)
        return Outcome(case, Status.WRONG, sentence, outputs=checks)
    status, sentence, place = (Status.PASS, "", None)
    if exercise.kind is Kind.KERNEL:
        status, sentence, place = who_did_it(exercise, inputs, outputs, session, watch)
    return Outcome(case, status, sentence, outputs=checks, place=place)


def _owner(exercise: Exercise, storage: int, returned: Any, given: Inputs) -> str:
    """Whose memory it is: that of an output or an input, by name, or of neither: "scratch"."""
    results = dict(zip(exercise.outputs, as_tuple(returned), strict=False))
    return {**storages(results), **storages(given)}.get(storage, "scratch")


def _writers(out: Any, session: Session) -> dict[str, Any]:
    if not isinstance(out, torch.Tensor) or misfit_kind(out):
        return {}
    region = session.memory.by_storage.get(out.untyped_storage()._cdata)
    if region is None or not session.launches or out.element_size() < region.unit:
        return {}
    last = torch.maximum(window(region.writer, out, region.unit), window(region.atomic, out, region.unit))
    return {"writers": torch.tensor(session.memory.races.numbers)[last]}


def _unread(given: Inputs, session: Session) -> dict[str, torch.Tensor]:
    """Which elements of each input no program loaded, for inputs that programs did load from."""
    unread = {}
    for name, value in given.items():
        if isinstance(value, torch.Tensor) and value.numel():
            region = session.memory.by_storage.get(value.untyped_storage()._cdata)
            if region is not None and region.loaded.any() and value.element_size() >= region.unit:
                unread[name] = ~window(region.loaded, value, region.unit)
    return unread


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
    fault = ("stale answer",) if stale else again.fault
    return dataclasses.replace(again, case=renamed, message=sentence or again.message, fault=fault)


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
    misfit = call_sentence(exercise.name, function, exercise.parameters())
    return Outcome(case, Status.CRASHED, misfit) if misfit else None
