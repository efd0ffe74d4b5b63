"""What a teacher decides about grades: other points, comments, late work, which attempt counts.

    >>> policy = Policy(due="2026-09-01T23:59+02:00", per_day=10, most=50)
    >>> policy.taken_off(submission)            # handed in on 2026-09-02T08:00+02:00
    10

It is kept in the gradebook beside the grades, which do not change: grading again changes none of it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from flashlearn.classroom.records import ExerciseGrade, Submission

DAY = 86_400.0


@dataclass(frozen=True)
class Policy:
    """When work is `due`, how many percent of its points late work loses `per_day`, `most` of all.

    A day that has begun counts. Work that a platform calls late without a date loses one day's. `attempts` is
    "latest", or "best": of a student's versions of a notebook the one with the most points.
    """

    due: str = ""
    per_day: float = 0.0
    most: float = 100.0
    attempts: str = "latest"

    def taken_off(self, of: Submission) -> float:
        """Percent of its points that a submission loses."""
        if not self.per_day:
            return 0.0
        days = 1 if of.late else 0
        if self.due and of.handed_in:
            late = moment(of.handed_in) - moment(self.due)
            days = max(0, math.ceil(late / DAY))
        return min(days * self.per_day, self.most)


@dataclass(frozen=True)
class Override:
    """A teacher's word on one exercise of one student: other points, or None, and a comment."""

    points: float | None = None
    comment: str = ""


def overridden(grade: ExerciseGrade, by: Override | None) -> ExerciseGrade:
    """The grade with the teacher's points and comment."""
    if by is None:
        return grade
    points = grade.points if by.points is None else by.points
    return replace(grade, points=points, comment=by.comment, overridden=by.points is not None)


def reduced(grade: ExerciseGrade, percent: float) -> ExerciseGrade:
    """The grade of late work. Points that a teacher has set are what they are."""
    if not percent or grade.overridden:
        return grade
    return replace(grade, points=grade.points * (1 - percent / 100))


def moment(text: str) -> float:
    """A date and time as seconds; without a zone it is this machine's. Raises ValueError."""
    return datetime.datetime.fromisoformat(text).timestamp()


def sentence(percents: Mapping[str, float]) -> str:
    """What a student reads about late work; nothing if none was late."""
    late = {lesson: percent for lesson, percent in percents.items() if percent}
    if not late:
        return ""
    each = ", ".join(f"lesson {lesson} loses {percent:g} % of its points" for lesson, percent in late.items())
    return f"Handed in late: {each}."
