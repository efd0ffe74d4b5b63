"""`check`: an exercise's name and a function go in, a `Report` comes out, and Jupyter shows it."""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from flashlearn import device, portable, symbolic, timing
from flashlearn.diagnose import diagnose
from flashlearn.exercise import Exercise, Kind
from flashlearn.exercises import find
from flashlearn.observe.observation import Launch
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.progress import Progress, append_verdict
from flashlearn.report import Report
from flashlearn.run import run
from flashlearn.tolerance import as_tuple, output_dtypes

_passed: dict[str, Callable] = {}
JUDGED = {Status.WRONG, Status.PASS}


class CheckFailed(AssertionError):
    """A check that did not pass, where FLASHLEARN_STRICT=1 asks for an error."""


class CheckStopped(KeyboardInterrupt):
    """A check that was interrupted. Nothing was recorded."""

    def _render_traceback_(self) -> list[str]:
        return [f"The check was stopped. {self}"]


def check(name: str, function: Callable, *, demo: bool = False) -> Report:
    """Check `function`, the learner's answer to exercise `name`, and record the attempt.

    `function` is the launcher (kernels), or the plain function (torch, sympy), with the exercise's
    signature. With `demo=True` the check is an illustration: it is not recorded and never raises.

    Raises UnknownExercise for a name that is no exercise, CheckFailed where FLASHLEARN_STRICT=1 is
    set and the check does not pass (a check that needs a GPU is no failure), and CheckStopped when
    interrupted.
    """
    exercise = find(name)
    started = time.perf_counter()
    try:
        with _one_thread():
            outcomes, finding = _judge(exercise, function)
    except KeyboardInterrupt:
        raise CheckStopped("Nothing was recorded.") from None
    report = Report(
        exercise=exercise,
        outcomes=tuple(outcomes),
        finding=finding,
        timing=_timing(exercise, function, outcomes),
        budgets=_budgets(outcomes),
        mode=device.mode(),
        demo=demo,
        seconds=time.perf_counter() - started,
        hints_taken=Progress().hints(name),
    )
    if not demo:
        _record(report, function)
    return report


def use(name: str, function: Callable) -> Callable:
    """`function` if it has passed its check in this session, else the course's own solution.

    Later cells of a lesson build on an exercise; this is how they run whether it is solved or not.
    """
    exercise = find(name)
    return function if _passed.get(name) is function else solution(exercise)


def passed_or_own(name: str) -> Callable:
    """The function that last passed `name`'s check in this session, or the course's own if none has."""
    return _passed.get(name) or solution(find(name))


def solution(exercise: Exercise) -> Callable:
    """The package's own function for an exercise: its kernel's launcher, or the reference."""
    if not exercise.solution:
        return exercise.reference
    module, _, attribute = exercise.solution.partition(":")
    return getattr(importlib.import_module(module), attribute)


def as_learner(exercise: Exercise, name: str) -> Callable:
    """A declared mistake as the function that a learner who makes it would hand in.

    A kernel fixture is taken as it is; a torch formula's outputs get the dtypes that are asked for.
    """
    mistake = exercise.mistakes[name]
    if mistake.launcher is not None:
        return mistake.launcher

    def handed_in(*values: Any) -> Any:
        inputs = dict(zip(exercise.parameters(), values, strict=True))
        with _disable_current_modes():  # nobody need watch a formula that stands for a learner's kernel
            wrong = mistake.wrong(**inputs)
        if exercise.kind is Kind.SYMBOLIC or exercise.call is not None:  # whose outputs are made of it
            return wrong
        outputs = [
            out.to(dtype) for out, dtype in zip(as_tuple(wrong), output_dtypes(exercise, inputs), strict=True)
        ]
        return tuple(outputs) if isinstance(wrong, tuple) else outputs[0]

    return handed_in


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Keep torch to one thread: on tensors as small as a check's, threads only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _judge(exercise: Exercise, function: Callable) -> tuple[list[Outcome], Finding | None]:
    is_symbolic = exercise.kind is Kind.SYMBOLIC
    outcomes = symbolic.run_symbolic(exercise, function) if is_symbolic else run(exercise, function)
    if exercise.review is not None and all(o.status is Status.PASS for o in outcomes):
        sentence = exercise.review(function)
        if sentence:
            outcomes.append(Outcome(exercise.cases[0], Status.WRONG, sentence))
            return outcomes, Finding("review", sentence, "Every case passes: this alone is left to mend.")
    if is_symbolic:
        return outcomes, symbolic.name_mistake(exercise, outcomes)
    finding = diagnose(exercise, outcomes, function)
    statuses = {o.status for o in outcomes}
    if finding is None and exercise.explain is not None and Status.WRONG in statuses <= JUDGED:
        finding = exercise.explain(outcomes, function)
    return outcomes, finding


def _timing(exercise: Exercise, function: Callable, outcomes: list[Outcome]) -> Any:
    if exercise.kind is not Kind.KERNEL or any(o.status is not Status.PASS for o in outcomes):
        return None
    if device.has_gpu() and exercise.timing_case is not None:
        return timing.measure(exercise, function)
    seen = [
        (exercise.inputs(o.case, o.case.generator()), o.observation)
        for o in outcomes
        if o.observation is not None
    ]
    if not seen:
        return None
    return timing.predict(exercise, *min(seen, key=lambda one: timing.padding(exercise, *one)))


def _budgets(outcomes: list[Outcome]) -> Future | None:
    """Compile the kernels of the case that did most, for GPUs that need not be here.

    The same kernels at other dtypes are compiled along with them: one that carries a half-precision sum
    through its loop runs interpreted, and a GPU's compiler refuses it.
    """
    worth = [o for o in outcomes if o.observation is not None and o.status in (Status.PASS, Status.WRONG)]
    if not worth:
        return None
    worth.sort(key=lambda o: -o.observation.total_operations)
    launches: dict[str, Launch] = {}
    others: dict[tuple, Launch] = {}
    for outcome in worth:
        for launch in outcome.observation.launches:
            if outcome is worth[0]:
                launches.setdefault(launch.name, launch)
            others.setdefault((launch.name, *sorted(launch.signature.items())), launch)
    known = {id(launch) for launch in launches.values()}
    rest = [launch for launch in others.values() if id(launch) not in known and launch.name in launches]
    return portable.start(list(launches.values()), also=rest) if launches else None


def _record(report: Report, function: Callable) -> None:
    exercise = report.exercise
    if report.passed:
        _passed[exercise.name] = function
    Progress().attempt(exercise.name, report.status, report.seconds)
    append_verdict(
        {
            "exercise": exercise.name,
            "lesson": exercise.lesson,
            "status": report.status.name,
            "passed": report.passed,
            "sentence": report.sentence,
            "seconds": round(report.seconds, 3),
        }
    )
    strict = os.environ.get("FLASHLEARN_STRICT") == "1"
    if strict and not report.passed and report.status is not Status.NEEDS_GPU:
        raise CheckFailed(str(report))
