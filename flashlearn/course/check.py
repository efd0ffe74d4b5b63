"""`check`: an exercise's name and a function go in, a `Report` comes out, and the attempt is recorded."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import warnings
from collections.abc import Callable

from flashlearn.checking import grade
from flashlearn.course import answers, failure_log, unrun_cells
from flashlearn.course.exercise_links import exercise_link
from flashlearn.course.files import Course
from flashlearn.course.overview import survey
from flashlearn.course.pages import start_page
from flashlearn.course.progress import Progress, append_verdict
from flashlearn.course.stale_cells import stale_sentence
from flashlearn.course.stub_remnants import stub_remnants
from flashlearn.exercise import Exercise
from flashlearn.lessons import find, listed
from flashlearn.outcome import Status
from flashlearn.report import Report
from flashlearn.report.progress_line import ProgressLine
from flashlearn.running.answer import Here

unrun_cells.install()  # `flashlearn.check` is looked up before the answer, which may not be defined


class CheckFailed(AssertionError):
    """A check did not pass, and FLASHLEARN_STRICT=1 asks for an error."""


class CheckStopped(KeyboardInterrupt):
    """A check was interrupted. Nothing was recorded."""

    def _render_traceback_(self) -> list[str]:
        return [f"The check was stopped. {self}"]


def check(name: str, function: Callable, *, demo: bool = False) -> Report:
    """Check `function`, the learner's answer to exercise `name`, and record the attempt.

    `function` is the launcher (kernels), or the plain function (torch, sympy), with the exercise's
    signature. With `demo=True` the check is an illustration: it is not recorded, never raises and shows
    nothing while it runs, so that its cell has the same outputs on every machine.

    Raises UnknownExercise for an unknown name, CheckFailed if FLASHLEARN_STRICT=1 is set and the check does
    not pass (a check that needs a GPU does not count as a failure), and CheckStopped when interrupted.

    If the last run of the cell did not define the function, the verdict is about the version before: the
    report says so first, and it is not recorded.
    """
    exercise = find(name)
    failure_log.install()
    try:
        with warnings.catch_warnings(), ProgressLine(exercise, silent=demo) as line:
            # triton's would come with each of a check's many launches
            warnings.filterwarnings("ignore", message=".*is deprecated", module="triton")
            report = grade(exercise, Here(function, exercise), answers.earlier_answer, line.at)
    except KeyboardInterrupt:
        raise CheckStopped("Nothing was recorded.") from None
    hints, follows = Progress().hints(name), next_exercise_sentence(exercise, _completes_lesson(exercise))
    report = dataclasses.replace(report, demo=demo, hints_taken=hints, follows=follows, progress_line=line)
    if report.passed and not demo:
        report = dataclasses.replace(report, links=_links(exercise))
    if not demo:
        notes = () if report.passed else stub_remnants(function, report.status)
        report = dataclasses.replace(report, stale=stale_sentence(function), notes=notes)
        _record(report, function)
    return report


def next_exercise_sentence(exercise: Exercise, completes: bool = False) -> str:
    """The exercise after this one in the course's order, in words; empty if this one is not in the course.

    `completes` says that this exercise was the last of its lesson to pass.
    """
    course = list(listed().values())
    at = _place(exercise)
    if at is None:
        return ""
    done = f"With this, lesson {exercise.lesson} is complete." if completes else ""
    if at + 1 == len(course):
        return f"{done} That was the last exercise of the course.".strip()
    follower = course[at + 1]
    title = f"{follower.name} ({follower.title})" if follower.title else follower.name
    if follower.lesson == exercise.lesson:
        follows = "`flashlearn.status()` shows what is next" if done else f"{title}, in this lesson"
        return f"{done} {follows}.".strip()
    ended = done or f"That was the last exercise of lesson {exercise.lesson}."
    return f"{ended} Lesson {follower.lesson} begins with {title}."


def _place(exercise: Exercise) -> int | None:
    """How many exercises of the course come before this one; None if it is not in the course."""
    return next((i for i, other in enumerate(listed().values()) if other.name == exercise.name), None)


def _links(exercise: Exercise) -> tuple[tuple[str, str], ...]:
    """The next exercise's name and its address, if the learner has a copy of its lesson."""
    at, course = _place(exercise), list(listed().values())
    follower = course[at + 1] if at is not None and at + 1 < len(course) else None
    address = exercise_link(follower.name, follower.lesson) if follower is not None else ""
    return ((follower.name, address),) if follower is not None and address else ()


def _completes_lesson(exercise: Exercise) -> bool:
    """Whether this is the one exercise of its lesson that has not passed yet."""
    lesson = {other.name for other in listed().values() if other.lesson == exercise.lesson}
    return lesson - Progress().passed().keys() == {exercise.name}


def _record(report: Report, function: Callable) -> None:
    exercise = report.exercise
    if report.stale:
        _fail_where_strict(report)
        return
    if report.passed:
        answers.passed[exercise.name] = function
    Progress().attempt(exercise.name, report.status, report.seconds)
    if report.passed:
        _renew_start_page()
    if not report.passed or os.environ.get("FLASHLEARN_VERDICTS"):
        append_verdict(report.to_verdict())  # of a failure also for its marked line: it is read as it is now
    if not report.passed and report.status is not Status.NEEDS_GPU:
        _fail_where_strict(report)


def _renew_start_page() -> None:
    """Bring START.md to the current progress, if `flashlearn lab` has written one."""
    with contextlib.suppress(Exception):  # a page beside the course: no verdict depends on it
        course = Course.here()
        if (course.work / start_page.NAME).exists():
            start_page.write(survey(course, Progress()))


def _fail_where_strict(report: Report) -> None:
    if os.environ.get("FLASHLEARN_STRICT") == "1":
        raise CheckFailed(str(report))
