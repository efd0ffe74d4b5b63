"""`grade`: an exercise and an answer to it go in, a `Report` comes out: run, judge, explain, report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from flashlearn import compiler
from flashlearn.exercise import Case, Earlier, Exercise, Kind
from flashlearn.explaining import diagnose
from flashlearn.explaining.findings.case_status import Undecided
from flashlearn.explaining.findings.review import AtRealSizes, Review
from flashlearn.explaining.stage import attempted, log_failure
from flashlearn.interpreter import printing
from flashlearn.interpreter.cautions import BESIDE, NOT_TIMED
from flashlearn.judging import real_sizes, speed, symbolic
from flashlearn.judging.cases import run
from flashlearn.machine import device
from flashlearn.machine.process_settings import ignore_existing_objects, one_thread
from flashlearn.observation import Launch
from flashlearn.outcome import Caution, Finding, Outcome, Status
from flashlearn.report import Report
from flashlearn.running.answer import Answer, answering
from flashlearn.running.evidence import Interrupted, Raised


@dataclass
class Check:
    """A check on its way: what goes in, and what its steps have found so far.

    `watching` is called with each case as it begins, and with None when the search for the mistake does. It
    is `settled` once a step has said what the finding is, or that there is none.
    """

    exercise: Exercise
    answer: Answer
    earlier: Earlier
    watching: Callable[[Case | None], None]
    budgeted: bool
    outcomes: list[Outcome] = field(default_factory=list)
    finding: Finding | None = None
    settled: bool = False
    timing: speed.Timing | None = None
    budgets: Future | None = None
    compiled: Case | None = None

    @property
    def passed(self) -> bool:
        """Whether every case passes, as far as it has been judged."""
        return all(o.status is Status.PASS for o in self.outcomes)


@dataclass(frozen=True)
class Step:
    """One step of a check. Those that measure run after torch has its threads back."""

    description: str
    run: Callable[[Check], None]
    measures: bool = False


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
        for context in (one_thread(), ignore_existing_objects(), printing.capped()):
            quiet.enter_context(context)
        for step in STEPS:
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


def _run_and_judge(check: Check) -> None:
    if check.exercise.kind is Kind.SYMBOLIC:
        check.outcomes = symbolic.run_symbolic(check.exercise, check.answer)
    else:
        check.outcomes = run(check.exercise, check.answer, watching=check.watching)
    check.watching(None)


def _try_real_sizes(check: Check) -> None:
    exercise = check.exercise
    if not check.passed:
        return
    seen = attempted(
        exercise, "real sizes", real_sizes.beyond_small_cases, exercise, check.answer, check.outcomes
    )
    if seen is not None:
        case = exercise.cases[0]
        check.outcomes.append(Outcome(case, Status.WRONG, seen.sentence, place=seen.place))
        kind = AtRealSizes(seen.sentence, case.name, called=(seen.kind,))
        check.finding, check.settled = Finding(kind, place=seen.place), True


def _review(check: Check) -> None:
    exercise, review = check.exercise, check.exercise.judged.review
    if review is None or not check.passed:
        return
    try:
        sentence = review(check.answer, check.earlier)
    except Interrupted as error:
        check.outcomes.append(_interrupted(exercise, error.raised))
        check.settled = True
    except Exception as error:  # a review decides: one that fails has said neither yes nor no
        log_failure(exercise, "review")
        check.outcomes.append(undecided := _undecided(exercise, error))
        check.finding, check.settled = Finding(Undecided(undecided.message, undecided.case.name)), True
    else:
        if sentence:
            check.outcomes.append(Outcome(exercise.cases[0], Status.WRONG, sentence))
            check.finding, check.settled = Finding(Review(sentence, exercise.cases[0].name)), True


def _explain(check: Check) -> None:
    """The verdict is decided before, and without it; of a kernel that passes there is nothing to explain."""
    if not check.settled and not (check.passed and check.exercise.kind is not Kind.SYMBOLIC):
        with printing.muted():  # the experiments run the kernel again, which has printed what it prints
            about = (check.exercise, check.outcomes, check.answer)
            check.finding = attempted(check.exercise, "explaining", diagnose, *about)


def _look_beside(check: Check) -> None:
    """What no case shows, of an answer with cases that fail: the learner can put both right at once."""
    exercise, about = check.exercise, (check.exercise, check.answer, check.outcomes)
    ran = {o.status for o in check.outcomes} <= {Status.PASS, Status.WRONG, Status.OUT_OF_BOUNDS, Status.RACE}
    if check.settled or check.passed or not ran or exercise.kind is Kind.SYMBOLIC:
        return
    with printing.muted():
        seen = attempted(exercise, "real sizes", real_sizes.beyond_small_cases, *about)
        beside = exercise.judged.beside
        sentence = attempted(exercise, "beside", beside, check.answer) if beside is not None else ""
    notes = [real_sizes.not_shown(seen)] if seen is not None else []
    notes += [Caution(BESIDE, sentence)] if sentence else []
    check.outcomes[-1] = replace(check.outcomes[-1], warnings=(*check.outcomes[-1].warnings, *notes))


def _time(check: Check) -> None:
    try:
        check.timing = _timing(check.exercise, check.answer, check.outcomes)
    except speed.NotTimed as reason:
        note = Caution(NOT_TIMED, str(reason))
        check.outcomes[-1] = replace(check.outcomes[-1], warnings=(*check.outcomes[-1].warnings, note))


def _compile_for_gpus(check: Check) -> None:
    if check.budgeted:
        check.budgets, check.compiled = _budgets(check.exercise, check.answer, check.outcomes)


STEPS = (
    Step(
        "Run the answer in every case, and judge each: right, wrong, or why it did not end.", _run_and_judge
    ),
    Step("Where every case passes, see whether offsets and grids also fit at real sizes.", _try_real_sizes),
    Step("Where every case passes, let the exercise review the answer as a whole.", _review),
    Step("Explain what is wrong: the stages of flashlearn.explaining.pipeline.", _explain),
    Step("Where cases fail, note what no case shows: offsets at real sizes, refusals.", _look_beside),
    Step("Time an answer that passes, or predict its time where there is no GPU.", _time, measures=True),
    Step("Start compiling its kernels for GPUs that need not be here.", _compile_for_gpus, measures=True),
)
"""The steps of a check, in their order."""


def _undecided(exercise: Exercise, error: Exception) -> Outcome:
    """The outcome of a review that failed unexpectedly."""
    return Outcome(
        exercise.cases[0],
        Status.UNDECIDED,
        "Every case passes; but the final review of your answer could not be completed "
        f"({type(error).__name__}: {str(error)[:120]}), so this is no pass yet.",
    )


def _interrupted(exercise: Exercise, error: Raised) -> Outcome:
    """The outcome of a call beyond the cases that was interrupted."""
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
