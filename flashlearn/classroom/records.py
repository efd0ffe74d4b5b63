"""The data of the classroom's packages: plain and frozen.

>>> assignment.exercises[0]
AssignedExercise(name='row_sum', lesson='00', points=2, rule='all')
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class AssignedExercise:
    """One exercise of an assignment: its points, and the rule for them.

    `rule` is "all" (full points or none), or "share" (points by the share of cases that are right).
    """

    name: str
    lesson: str
    points: int
    rule: str = "all"


@dataclass(frozen=True)
class Assignment:
    """What was handed out. `draws` is the teacher's secret for drawing the cases' inputs.

    `version` is the course's, `key` the hash of everything here that a grade depends on.
    """

    name: str
    exercises: tuple[AssignedExercise, ...]
    version: str
    draws: bytes = field(default=b"", repr=False)
    key: str = ""


@dataclass(frozen=True)
class CodeCell:
    """One code cell of a submission, as text. `exercise` is the one that it answers, or "".

    `file` is its notebook: the cells of one notebook share their names, those of two do not.
    """

    text: str
    exercise: str = ""
    file: str = ""


@dataclass(frozen=True)
class Submission:
    """One student's work on one assignment, after the structure check; nothing of it has been run.

    `student` is the name as the folder or the file gives it, `files` are its paths, `cells` the code cells in
    order without check cells, `notes` what the structure check tells the student, and `broken` says why
    nothing can be graded. `key` is the hash of what is run, `content` that of all code cells.
    `handed_in` is when, as far as the platform says so, in ISO 8601; `late` that it says so without a date.
    """

    student: str
    files: tuple[str, ...]
    cells: tuple[CodeCell, ...]
    key: str
    notes: tuple[str, ...] = ()
    broken: str = ""
    content: str = ""
    handed_in: str = ""
    late: bool = False


@dataclass(frozen=True)
class ExerciseGrade:
    """One exercise of one submission.

    `verdict` is "pass", "wrong", "todo", "missing", "stopped" (out of time or memory) or "not graded";
    `sentence`, `line_number`, `line` and `next_step` are for the student, `mistake` names the finding for the
    teacher's statistics, `for_teacher` is a remark that a student does not see. `comment` is a teacher's for
    the student, and `overridden` says that the points are the teacher's.
    """

    name: str
    verdict: str
    points: float
    out_of: int
    cases_passed: int = 0
    cases: int = 0
    sentence: str = ""
    line_number: int = 0
    line: str = ""
    next_step: str = ""
    mistake: str = ""
    for_teacher: str = ""
    seconds: float = 0.0
    comment: str = ""
    overridden: bool = False


@dataclass(frozen=True)
class JudgedExercise:
    """One judged exercise of a submission, of which others may not be judged yet.

    `notes` are the new notes for the student, `layers` the sandbox layers around the student's code.
    """

    grade: ExerciseGrade
    notes: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()


@dataclass(frozen=True)
class SubmissionGrade:
    """The grade of one submission. `points` is a whole number: the sum is rounded once, half up.

    `status` is "graded", "broken" (nothing could be graded) or "infrastructure" (the grader failed, not the
    student). `layers` are the sandbox layers around the student's code; none with --unsafe.
    """

    student: str
    submission: str
    assignment: str
    status: str
    points: int
    out_of: int
    exercises: tuple[ExerciseGrade, ...] = ()
    notes: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    seconds: float = 0.0
    figures: Mapping[str, float] = field(default_factory=dict)
