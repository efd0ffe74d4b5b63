"""One job: a submission, its assignment, and how it is graded. It is sent as text.

>>> job = Job(submission, assignment)
>>> outcome = perform(job.text(), Grading())      # in a worker of this machine, or of another one
>>> finished(job, outcome).status
'graded'
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from flashlearn.classroom.gradebook import grade_from, judged_from, submission_from
from flashlearn.classroom.records import (
    AssignedExercise,
    Assignment,
    ExerciseGrade,
    JudgedExercise,
    Submission,
    SubmissionGrade,
)

OnJudged = Callable[[JudgedExercise], None]
"""Called with each exercise as soon as it is judged."""

Grade = Callable[[Submission, Assignment, tuple[JudgedExercise, ...], OnJudged], SubmissionGrade]
"""Grades a submission; exercises that were judged before are not judged again."""


class SharedGrader(Protocol):
    """What the graders of one machine share, in the process that their workers are forked from."""

    def share(self) -> Any:
        """What one worker gets of it, before the fork; None, or something to be closed."""

    def grader(self, share: Any) -> contextlib.AbstractContextManager[Any]:
        """The grader, after the fork: a context with a method `grade`."""

    def close(self) -> None:
        """End what it has started."""


@dataclass(frozen=True)
class Grading:
    """How submissions are graded: `grade` is the path, "module:name", of a function or a class that does it.

    A function is a `Grade` that takes `unsafe` too. A class is instantiated once in each worker, with
    `unsafe`, as a context that has a method `grade`. If the class has `shared`, which makes a `SharedGrader`,
    the workers of one machine are forked from a process that holds it. With `unsafe`, students' code is run
    without a sandbox. Kernels that pass are timed on the first `gpus` GPUs, if any; the class then gets
    `gpus` too.
    """

    grade: str = "flashlearn.classroom.grading.session:GradingSession"
    unsafe: bool = False
    gpus: int = 0

    def shared(self) -> SharedGrader | None:
        """What all workers share, made now; None if the grader has nothing to share."""
        make = getattr(named(self.grade), "shared", None)
        return make(**self._how()) if make is not None else None

    @contextlib.contextmanager
    def grader(self, shared: SharedGrader | None = None, share: Any = None) -> Iterator[Grade]:
        """The function that grades, ready for many submissions."""
        found = named(self.grade)
        if isinstance(found, type):
            with shared.grader(share) if shared is not None else found(**self._how()) as grader:
                yield grader.grade
        else:
            yield functools.partial(found, **self._how())

    def _how(self) -> dict[str, Any]:
        return {"unsafe": self.unsafe} | ({"gpus": self.gpus} if self.gpus else {})


@dataclass(frozen=True)
class Job:
    """A submission, its part of the assignment, and the exercises that interrupted attempts have judged."""

    submission: Submission
    assignment: Assignment
    judged: tuple[JudgedExercise, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The job's identity: the hashes of the content and of the assignment."""
        return self.submission.key, self.assignment.key

    def after(self, judged: JudgedExercise) -> Job:
        """The job with one more exercise judged, or judged again."""
        others = (one for one in self.judged if one.grade.name != judged.grade.name)
        return dataclasses.replace(self, judged=(*others, judged))

    def text(self) -> str:
        """The job as JSON, as it is sent to a worker."""
        record = dataclasses.asdict(self)
        record["assignment"]["draws"] = self.assignment.draws.hex()
        return json.dumps(record)


OnProgress = Callable[[Job, JudgedExercise], None]
"""Called with each exercise of a job as soon as it is judged, in the one process that writes."""


def job_from(text: str) -> Job:
    """The job out of its JSON."""
    record = json.loads(text)
    asked = record["assignment"]
    exercises = tuple(AssignedExercise(**one) for one in asked["exercises"])
    assignment = Assignment(**{**asked, "exercises": exercises, "draws": bytes.fromhex(asked["draws"])})
    judged = tuple(judged_from(json.dumps(one)) for one in record["judged"])
    return Job(submission_from(json.dumps(record["submission"])), assignment, judged)


def perform(text: str, grade: Grade, on_judged: OnJudged = lambda judged: None) -> str:
    """Grade one job, and return the outcome as JSON: the grade, or what the grader failed with."""
    job = job_from(text)
    started = time.perf_counter()
    try:
        found = grade(job.submission, job.assignment, job.judged, on_judged)
    except (
        Exception
    ) as error:  # the grader's fault: it must not end the worker, nor count against the student
        return json.dumps({"failed": f"{type(error).__name__}: {str(error)[:300]}"})
    seconds = found.seconds or time.perf_counter() - started
    record = dataclasses.asdict(dataclasses.replace(found, seconds=seconds, figures=dict(found.figures)))
    return json.dumps({"graded": record})


def read_outcome(job: Job, text: str) -> SubmissionGrade | str:
    """The grade out of an outcome, or why there is none."""
    record = json.loads(text)
    if "failed" in record:
        return str(record["failed"])
    found = grade_from(json.dumps(record["graded"]))
    if (found.submission, found.assignment) != job.key:
        return "a grade of another submission came back"
    if found.status == "infrastructure":
        return next((one.for_teacher for one in found.exercises if one.for_teacher), "the grader gave up")
    return found


def without_running(job: Job) -> SubmissionGrade | None:
    """The grade of a submission that cannot be run; None if it can."""
    if not job.submission.broken:
        return None
    return _all(job, "missing", "broken")


def failed(job: Job, why: str) -> SubmissionGrade:
    """The grade for a failure of the grader, which is not the student's."""
    return _all(job, "not graded", "infrastructure", f"The grader failed: {why}.")


def _all(job: Job, verdict: str, status: str, remark: str = "") -> SubmissionGrade:
    each = tuple(
        ExerciseGrade(one.name, verdict, 0, one.points, for_teacher=remark)
        for one in job.assignment.exercises
    )
    out_of = sum(one.points for one in job.assignment.exercises)
    return SubmissionGrade(job.submission.student, *job.key, status, 0, out_of, each)


def named(path: str) -> Any:
    """The object that a path of the form "module:name" names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
