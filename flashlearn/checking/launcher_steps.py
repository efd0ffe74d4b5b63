"""The steps of checking a launcher, or a function in torch: they run kernels, compile them and time them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace

from flashlearn import compiler
from flashlearn.checking.check import Check, Step
from flashlearn.checking.steps import EXPLAIN, REVIEW
from flashlearn.exercise import Case, Exercise, Kind
from flashlearn.explaining.findings.review import AtRealSizes
from flashlearn.explaining.stage import attempted
from flashlearn.interpreter import printing
from flashlearn.interpreter.cautions import BESIDE, NOT_TIMED
from flashlearn.judging import real_sizes, speed
from flashlearn.judging.cases import run
from flashlearn.machine import device
from flashlearn.observation import Launch
from flashlearn.outcome import Caution, Finding, Outcome, Status
from flashlearn.running.answer import Answer


def _run_and_judge(check: Check) -> None:
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


def _look_beside(check: Check) -> None:
    """What no case shows, of an answer with cases that fail: the learner can put both right at once."""
    exercise, about = check.exercise, (check.exercise, check.answer, check.outcomes)
    ran = {o.status for o in check.outcomes} <= {Status.PASS, Status.WRONG, Status.OUT_OF_BOUNDS, Status.RACE}
    if check.settled or check.passed or not ran:
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
    REVIEW,
    EXPLAIN,
    Step("Where cases fail, note what no case shows: offsets at real sizes, refusals.", _look_beside),
    Step("Time an answer that passes, or predict its time where there is no GPU.", _time, measures=True),
    Step("Start compiling its kernels for GPUs that need not be here.", _compile_for_gpus, measures=True),
)
"""The steps of a check of a launcher, or of a function in torch, in their order."""


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
