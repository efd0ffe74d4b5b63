"""Graders for tests: they read marks in an answer's text, and run nothing of it.

# mark: pass | wrong | todo | dies | raises | sleeps | dies once PATH
# logs: PATH          where a line is added each time that this answer is judged
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from flashlearn.classroom.job import OnJudged
from flashlearn.classroom.records import (
    AssignedExercise,
    Assignment,
    ExerciseGrade,
    JudgedExercise,
    Submission,
    SubmissionGrade,
)
from flashlearn.classroom.results import half_up

MARK = re.compile(r"# mark: (\w+)(?: once (\S+))?")
LOG = re.compile(r"# logs: (\S+)")


def by_marks(
    submission: Submission,
    assignment: Assignment,
    judged: Iterable[JudgedExercise] = (),
    on_judged: OnJudged = lambda judged: None,
    unsafe: bool = False,
) -> SubmissionGrade:
    """Each exercise gets the verdict that its cell names."""
    texts = {cell.exercise: cell.text for cell in submission.cells}
    grades = {one.grade.name: one.grade for one in judged}
    for asked in assignment.exercises:
        if asked.name not in grades:
            grades[asked.name] = _one(asked, texts.get(asked.name))
            on_judged(JudgedExercise(grades[asked.name]))
    each = tuple(grades[asked.name] for asked in assignment.exercises)
    points, out_of = half_up(sum(one.points for one in each)), sum(one.points for one in assignment.exercises)
    layers = () if unsafe else ("none needed",)
    return SubmissionGrade(
        submission.student, submission.key, assignment.key, "graded", points, out_of, each, layers=layers
    )


class Kept(contextlib.AbstractContextManager):
    """A grader that is made once for a worker's life, and refuses to work without `unsafe`."""

    def __init__(self, unsafe: bool):
        if not unsafe:
            raise OSError("no sandbox here")
        self.open = False

    def __enter__(self) -> Kept:
        self.open = True
        return self

    def __exit__(self, *_error: object) -> None:
        self.open = False

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        judged: Iterable[JudgedExercise],
        on_judged: OnJudged,
    ) -> SubmissionGrade:
        assert self.open
        return by_marks(submission, assignment, judged, on_judged, unsafe=True)


def _one(asked: AssignedExercise, text: str | None) -> ExerciseGrade:
    if log := LOG.search(text or ""):
        with Path(log[1]).open("a") as file:
            file.write(f"{asked.name}\n")
    found = MARK.search(text or "")
    verdict = found[1] if found else "todo" if text else "missing"
    if found and found[2] and Path(found[2]).exists():
        verdict = "pass"
    elif found and found[2]:
        Path(found[2]).touch()
    if verdict == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if verdict == "raises":
        raise ValueError("the grader tripped")
    if verdict == "sleeps":
        time.sleep(600)
    if verdict == "wrong":
        share = asked.points / 2 if asked.rule == "share" else 0
        return ExerciseGrade(
            asked.name, "wrong", share, asked.points, 1, 2, f"{asked.name} adds `x` twice.", 2, "x + x",
            "Look at `x`.", "twice",
        )  # fmt: skip
    got = asked.points if verdict == "pass" else 0
    return ExerciseGrade(asked.name, verdict, got, asked.points, 2 * (verdict == "pass"), 2)
