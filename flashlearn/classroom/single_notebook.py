"""One untrusted notebook, graded in the sandbox: what `flashlearn check --sandbox` does.

>>> found = cells(Path("from_a_friend.ipynb"))
>>> grades, notes = verdicts("from_a_friend.ipynb", found, asked(found))
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from flashlearn.classroom.grading.session import grade
from flashlearn.classroom.records import AssignedExercise, Assignment, CodeCell, ExerciseGrade, Submission
from flashlearn.classroom.sandbox.client import NotConfined
from flashlearn.course.files import CourseError
from flashlearn.course.marked_cells import answering, text
from flashlearn.lessons import all_exercises

LARGEST = 64 << 20
"""Bytes of a notebook."""


class Unreadable(ValueError):
    """A file that is not a notebook; the message is one sentence."""


def cells(path: Path) -> tuple[CodeCell, ...]:
    """The code cells of a notebook, as text. Raises Unreadable."""
    try:
        if path.stat().st_size > LARGEST:
            raise Unreadable(f"{path} is larger than a notebook of this course can be.")
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return _sources([cell for cell in notebook["cells"] if cell.get("cell_type") == "code"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"{path} cannot be read as a notebook ({type(error).__name__}).") from None


def asked(of: Sequence[CodeCell]) -> tuple[str, ...]:
    """The exercises that cells answer, each once."""
    return tuple(dict.fromkeys(one.exercise for one in of if one.exercise))


def verdicts(
    name: str, of: tuple[CodeCell, ...], exercises: Sequence[str]
) -> tuple[tuple[ExerciseGrade, ...], list[str]]:
    """A grade for each exercise, and notes. Raises CourseError if there are too few sandbox layers here."""
    known = all_exercises()
    asked_for = tuple(
        AssignedExercise(one, known[one].lesson, known[one].points) for one in exercises if one in known
    )
    key = hashlib.sha256("\0".join(one.text for one in of).encode(errors="replace")).hexdigest()
    try:
        found = grade(Submission(name, (name,), of, key), Assignment(name, asked_for, "", key=key))
    except NotConfined as error:
        raise CourseError(f"{error} Without --sandbox it runs with your rights.") from None
    return found.exercises, list(found.notes)


def _sources(code: list[dict]) -> tuple[CodeCell, ...]:
    names = {at: name for name, at in answering(code, all_exercises()).items()}
    return tuple(CodeCell(text(cell), names.get(at, "")) for at, cell in enumerate(code))
