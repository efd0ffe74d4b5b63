"""`grade`: an exercise and an answer to it go in, a `Report` comes out: run, judge, explain, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from flashlearn import compiler
from flashlearn.exercise import Case, Earlier, Exercise, Kind
from flashlearn.explaining import diagnose, sayable
from flashlearn.explaining.edits.search import find_edit
from flashlearn.explaining.failures import attempted, log_failure
from flashlearn.explaining.faults import worst
from flashlearn.explaining.symbolic import name_mistake
from flashlearn.interpreter import printing
from flashlearn.interpreter.observation import Launch
from flashlearn.judging import speed, symbolic
from flashlearn.judging.cases import run
from flashlearn.machine import device
from flashlearn.machine.garbage_collection import ignore_existing_objects
from flashlearn.machine.threads import one_thread
from flashlearn.outcome import Finding, Outcome, Status, untyped
from flashlearn.report import Report
from flashlearn.running.answer import Answer, answering
from flashlearn.running.evidence import Interrupted, Raised

JUDGED = {Status.WRONG, Status.PASS}


def grade(
    exercise: Exercise,
    answer: Answer | Callable[..., Any],
    earlier: Earlier,
    watching: Callable[[Case | None], None] | None = None,
    budgeted: bool = True,
) -> Report:
    """Run `answer`, the learner's function, in every case of the exercise; say what is right and what is not.

    `earlier(name)` gives the learner's answer to another exercise, on which this one may build. `watching`
    is told each case as it begins, and None when the search for the mistake does. Only where it is `budgeted`
    are its kernels compiled, in processes of this user. Raises nothing for what the
    function does, and KeyboardInterrupt when interrupted.
    """
    started = time.perf_counter()
    answer = answering(exercise, answer)
    with one_thread(), ignore_existing_objects(), printing.capped():
        outcomes, finding = _judge(exercise, answer, earlier, watching or (lambda case: None))
    timing = _timing(exercise, answer, outcomes)
    budgets, compiled = _budgets(exercise, answer, outcomes) if budgeted else (None, None)
    return Report(
        exercise=exercise,
        outcomes=tuple(outcomes),
        finding=finding,
        timing=timing,
        budgets=budgets,
        compiled=compiled,
        mode=device.mode(),
        seconds=time.perf_counter() - started,
    )


def _judge(
    exercise: Exercise, answer: Answer, earlier: Earlier, watching: Callable[[Case | None], None]
) -> tuple[list[Outcome], Finding | None]:
    is_symbolic = exercise.kind is Kind.SYMBOLIC
    if is_symbolic:
        outcomes = symbolic.run_symbolic(exercise, answer)
    else:
        outcomes = run(exercise, answer, watching=watching)
    watching(None)
    if exercise.judged.review is not None and all(o.status is Status.PASS for o in outcomes):
        try:
            sentence = exercise.judged.review(answer, earlier)
        except Interrupted as error:
            return [*outcomes, _interrupted(exercise, error.raised)], None
        except Exception as error:  # a review decides: one that fails has said neither yes nor no
            log_failure(exercise, "review")
            return [*outcomes, undecided := _undecided(exercise, error)], untyped(
                "undecided", {"seen": undecided.message, "case": undecided.case.name}
            )
        if sentence:
            outcomes.append(Outcome(exercise.cases[0], Status.WRONG, sentence))
            return outcomes, untyped("review", {"seen": sentence, "case": exercise.cases[0].name})
    with printing.muted():  # the experiments run the kernel again, which has printed what it prints
        return outcomes, attempted(exercise, "explaining", _explained, exercise, outcomes, answer)


def _explained(exercise: Exercise, outcomes: list[Outcome], answer: Answer) -> Finding | None:
    """What is wrong, where that can be said; the verdict is decided before, and without it."""
    if exercise.kind is Kind.SYMBOLIC:
        finding = attempted(exercise, "symbolic", name_mistake, exercise, outcomes)
        if finding is None and worst(outcomes) is Status.WRONG:
            finding = attempted(exercise, "edit of a formula", find_edit, exercise, answer, outcomes)
        return sayable(exercise, finding)
    finding = attempted(exercise, "diagnosis", diagnose, exercise, outcomes, answer)
    statuses = {o.status for o in outcomes}
    explain = exercise.explained.explain
    if finding is None and explain is not None and Status.WRONG in statuses <= JUDGED:
        finding = sayable(exercise, attempted(exercise, "explain", explain, outcomes, answer))
    return finding


def _undecided(exercise: Exercise, error: Exception) -> Outcome:
    """The outcome of a review that failed in a way nobody thought of."""
    return Outcome(
        exercise.cases[0],
        Status.UNDECIDED,
        "Every case passes; but the last look at your answer could not be finished "
        f"({type(error).__name__}: {str(error)[:120]}), so this is no pass yet.",
    )


def _interrupted(exercise: Exercise, error: Raised) -> Outcome:
    """The outcome of a call beyond the cases that did not come to its end."""
    sentence = f"Every case passes; but called once more, with other inputs, it failed. {error.sentence}"
    return Outcome(exercise.cases[0], error.status, sentence, place=error.place, fault=error.fault)


def _timing(exercise: Exercise, answer: Answer, outcomes: list[Outcome]) -> speed.Timing | None:
    if exercise.kind is not Kind.KERNEL or any(o.status is not Status.PASS for o in outcomes):
        return None
    if device.runs(exercise.judged.needs) and exercise.timed.case is not None:
        return speed.measure(exercise, answer)
    seen = [
        (o.case, exercise.inputs(o.case, o.case.generator()), o.observation)
        for o in outcomes
        if o.observation is not None
    ]
    if not seen:
        return None
    return speed.predict(exercise, *min(seen, key=lambda one: speed.padding(exercise, *one[1:])))


def _budgets(
    exercise: Exercise, answer: Answer, outcomes: list[Outcome]
) -> tuple[Future | None, Case | None]:
    """Compile the kernels for GPUs that need not be here, and say of which case they are.

    The same kernels at other dtypes are compiled along with them: one that carries a half-precision sum
    through its loop runs interpreted, and a GPU's compiler refuses it.
    """
    worth = [o for o in outcomes if o.observation is not None and o.status in (Status.PASS, Status.WRONG)]
    if not worth:
        return None, None
    passed = all(o.status is Status.PASS for o in outcomes)
    case, launched = _launched(exercise, answer, worth, passed)
    launches: dict[str, Launch] = {}
    for launch in launched:
        launches.setdefault(launch.name, launch)
    others: dict[tuple, Launch] = {}
    for launch in [*launches.values(), *(one for o in worth for one in o.observation.launches)]:
        others.setdefault((launch.name, *sorted(launch.signature.items())), launch)
    known = {id(launch) for launch in launches.values()}
    rest = [launch for launch in others.values() if id(launch) not in known and launch.name in launches]
    return (compiler.start(list(launches.values()), also=rest), case) if launches else (None, None)


def _launched(
    exercise: Exercise, answer: Answer, worth: list[Outcome], passed: bool
) -> tuple[Case, Sequence[Launch]]:
    """A case and its launches: of an answer that passes the case for timing, with the types of its times.

    Where that cannot be known they are those of a case of the same precision, and of other answers those of
    the case that did most.
    """
    timed = exercise.timed.case
    if passed and timed is not None and (large := speed.launches(exercise, answer)):
        return timed, large
    alike = [o for o in worth if passed and timed is not None and o.case.dtype == timed.dtype]
    most = max(alike or worth, key=lambda o: o.observation.total_operations)
    return most.case, most.observation.launches
