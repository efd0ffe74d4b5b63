"""What a gradebook gives of each student: the notebooks that count, and their points.

>>> composed(student, parts, assignment).points
6
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from flashlearn.classroom.collecting.collect import Student
from flashlearn.classroom.policy import Override, Policy, overridden, reduced, sentence
from flashlearn.classroom.records import (
    AssignedExercise,
    Assignment,
    ExerciseGrade,
    Submission,
    SubmissionGrade,
)


@dataclass(frozen=True)
class NotebookResult:
    """One notebook of one student: what was handed in, and its grade, if there is one already."""

    lesson: str
    submission: Submission
    grade: SubmissionGrade | None
    attempts: int


@dataclass(frozen=True)
class Result:
    """The result of one student. `points` are the exercises' points, added and rounded once, half up.

    `late` is a sentence on work that was handed in late. A student of the roster who handed in nothing has no
    parts, and no points.
    """

    student: Student
    parts: tuple[NotebookResult, ...]
    out_of: int
    exercises: tuple[ExerciseGrade, ...] = field(default=())
    late: str = ""

    @property
    def points(self) -> int:
        return half_up(sum(one.points for one in self.exercises))

    @property
    def complete(self) -> bool:
        """Whether every notebook has a grade that is not a failure of the grader."""
        return all(part.grade is not None and part.grade.status != "infrastructure" for part in self.parts)

    @property
    def unsafe(self) -> bool:
        """Whether any of it was run without a sandbox."""
        return any(
            part.grade.status == "graded" and not part.grade.layers for part in self.parts if part.grade
        )


def composed(
    student: Student,
    parts: tuple[NotebookResult, ...],
    assignment: Assignment,
    policy: Policy | None = None,
    overrides: Mapping[str, Override] | None = None,
) -> Result:
    """A student's result of their notebooks, with every exercise of the assignment, in order."""
    policy, by = policy or Policy(), overrides or {}
    of = {one.name: one for part in parts if part.grade for one in part.grade.exercises}
    nothing = _none_yet if parts else _nothing_handed_in
    off = {part.lesson: policy.taken_off(part.submission) for part in parts}
    exercises = tuple(
        reduced(
            overridden(of.get(asked.name) or nothing(asked), by.get(asked.name)), off.get(asked.lesson, 0.0)
        )
        for asked in assignment.exercises
    )
    out_of = sum(asked.points for asked in assignment.exercises)
    return Result(student, parts, out_of, exercises, sentence(off))


def worth(part: NotebookResult, policy: Policy) -> float:
    """The points that a version of a notebook gives."""
    points = sum(one.points for one in part.grade.exercises) if part.grade else -1.0
    return points * (1 - policy.taken_off(part.submission) / 100)


def pseudonym(salt: str, name: str) -> str:
    """A name's stand-in, the same in every page of one gradebook."""
    return f"Student {hashlib.sha256(f'{salt} {name}'.encode(errors='replace')).hexdigest()[:6]}"


def canonical(name: str) -> str:
    """A name by which tables find each other: "Lee, Ann" and "Ann Lee" are the same."""
    return " ".join(
        sorted(re.findall(r"[^\W_]+", name.replace("\u200c", "").replace("\u200d", "").casefold()))
    )


def half_up(points: float) -> int:
    """Points rounded half up: 2.5 gives 3. A sum of thirds that is just below a half counts as a half."""
    return int(points + 0.5 + 1e-9)


def _none_yet(asked: AssignedExercise) -> ExerciseGrade:
    return ExerciseGrade(asked.name, "not graded", 0, asked.points)


def _nothing_handed_in(asked: AssignedExercise) -> ExerciseGrade:
    return ExerciseGrade(asked.name, "missing", 0, asked.points)
