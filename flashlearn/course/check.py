"""`check`: an exercise's name and a function go in, a `Report` comes out, and the attempt is recorded."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

from flashlearn.checking import grade
from flashlearn.course import answers
from flashlearn.course.progress import Progress, append_verdict
from flashlearn.exercise import Exercise
from flashlearn.lessons import all_exercises, find
from flashlearn.outcome import Status
from flashlearn.report import Report
from flashlearn.report.waiting import Waiting
from flashlearn.running.answer import Here


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
    try:
        with Waiting(exercise) as waiting:
            report = grade(exercise, Here(function, exercise), answers.earlier, waiting.at)
    except KeyboardInterrupt:
        raise CheckStopped("Nothing was recorded.") from None
    hints, follows = Progress().hints(name), what_follows(exercise)
    report = dataclasses.replace(report, demo=demo, hints_taken=hints, follows=follows, waiting=waiting)
    if not demo:
        _record(report, function)
    return report


def what_follows(exercise: Exercise) -> str:
    """The exercise after this one in the course's order, in words; empty if this one is not in the course."""
    course = list(all_exercises().values())
    at = next((i for i, other in enumerate(course) if other.name == exercise.name), None)
    if at is None:
        return ""
    if at + 1 == len(course):
        return "That was the last exercise there is."
    follower = course[at + 1]
    title = f"{follower.name} ({follower.title})" if follower.title else follower.name
    if follower.lesson == exercise.lesson:
        return f"{title}, in this lesson."
    ended = f"That was the last exercise of lesson {exercise.lesson}."
    return f"{ended} Lesson {follower.lesson} begins with {title}."


def _record(report: Report, function: Callable) -> None:
    exercise = report.exercise
    if report.passed:
        answers.passed[exercise.name] = function
    Progress().attempt(exercise.name, report.status, report.seconds)
    append_verdict(report.to_verdict())
    strict = os.environ.get("FLASHLEARN_STRICT") == "1"
    if strict and not report.passed and report.status is not Status.NEEDS_GPU:
        raise CheckFailed(str(report))
