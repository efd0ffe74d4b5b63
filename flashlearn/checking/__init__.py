"""`grade`: an exercise and an answer to it go in, a `Report` comes out: run, judge, explain, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from flashlearn.checking.check import Check, Step
from flashlearn.checking.steps import FORMULA_STEPS
from flashlearn.exercise import Case, Earlier, Exercise, Kind
from flashlearn.interpreter import printing
from flashlearn.machine import device
from flashlearn.machine.process_settings import ignore_existing_objects, one_thread
from flashlearn.report import Report
from flashlearn.running.answer import Answer, answering

__all__ = ["grade"]


def grade(
    exercise: Exercise,
    answer: Answer | Callable[..., Any],
    earlier: Earlier,
    watching: Callable[[Case | None], None] | None = None,
    budgeted: bool = True,
) -> Report:
    """Run `answer`, the learner's function, in every case of the exercise; say what is right and what is not.

    `earlier(name)` gives the learner's answer to another exercise, on which this one may build. `watching` is
    called with each case as it begins, and with None when the search for the mistake does. Only where it is
    `budgeted` are its kernels compiled, in processes of this user. Raises nothing for what the function does,
    and KeyboardInterrupt when interrupted.
    """
    started = time.perf_counter()
    check = Check(exercise, answering(exercise, answer), earlier, watching or (lambda case: None), budgeted)
    with ExitStack() as quiet:
        for context in (_one_thread(exercise), ignore_existing_objects(), printing.capped()):
            quiet.enter_context(context)
        for step in _steps(exercise):
            if step.measures:
                quiet.close()
            step.run(check)
    return Report(
        exercise=exercise,
        outcomes=tuple(check.outcomes),
        finding=check.finding,
        timing=check.timing,
        budgets=check.budgets,
        compiled=check.compiled,
        mode=device.mode(),
        seconds=time.perf_counter() - started,
    )


def _one_thread(exercise: Exercise) -> AbstractContextManager[None]:
    return nullcontext() if exercise.kind is Kind.SYMBOLIC else one_thread()


def _steps(exercise: Exercise) -> Sequence[Step]:
    if exercise.kind is Kind.SYMBOLIC:
        return FORMULA_STEPS
    from flashlearn.checking.launcher_steps import STEPS  # need triton, which a formula does without

    return STEPS
