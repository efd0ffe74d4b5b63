"""`reset`: an exercise's cell, or a whole lesson, in its original state. What you wrote is kept in work/old/.

>>> flashlearn.reset("dq_kernel")      # one cell of work/07_dq.ipynb
>>> flashlearn.reset("07")             # all of it
"""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashlearn.course.files import (
    Course,
    CourseError,
    Lesson,
    reason,
    timestamp,
    unknown,
    unused,
)
from flashlearn.course.marked_cells import answering

IN_JUPYTERLAB = (
    "If the notebook is open in JupyterLab, choose *Reload Notebook from Disk* in its File menu: what was "
    "not saved there is lost then. If JupyterLab asks first whether to overwrite or to revert, choose "
    "*Revert*."
)


@dataclass(frozen=True)
class Reset:
    """What was reset: `what` in words, in the notebook `path`; `kept` is where the old text is now."""

    what: str
    path: Path
    kept: Path | None = None
    changed: bool = True

    def __str__(self) -> str:
        """The result in sentences; advice on JupyterLab only if an open file may have changed."""
        if not self.changed:
            return f"{self.what} in {self.path} is in its original state: there was nothing to reset."
        kept = f" The old version is kept in {self.kept}." if self.kept else ""
        advice = f"\n{IN_JUPYTERLAB}" if self.kept else ""
        return f"{self.what} in {self.path} is in its original state again.{kept}{advice}"

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        """The same, with paths as code."""
        text = str(self)
        for path in filter(None, (self.kept, self.path)):
            text = text.replace(str(path), f"`{path}`")
        return text.replace("\n", "\n\n")


def reset(name: str) -> Reset:
    """Restore exercise `name`, or a whole lesson ("07", "07_dq"), to its original state.

    For an exercise only its cell changes, in the notebook as it was last saved. Raises CourseError, with
    similar names, for an unknown name, and if the notebook cannot be read or written.
    """
    if not isinstance(name, str):
        raise CourseError('A lesson or an exercise is named in quotes, as in "07" or "dq_kernel".')
    course = Course.here()
    if lesson := course.find_lesson(name):
        path, kept = course.reset(lesson)
        return Reset(f"Lesson {lesson.number}", path, kept)
    if owner := course.exercises().get(name):
        return reset_exercise(course, owner, name)
    known = [*(one.stem for one in course.lessons()), *course.exercises()]
    raise CourseError(unknown("lesson or exercise", name, known))


def reset_exercise(course: Course, lesson: Lesson, name: str) -> Reset:
    """Restore the stub of an exercise in the learner's copy of its lesson; nothing else changes."""
    path = course.copy_of(lesson)
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        own, given = _cell(notebook, name), _cell(json.loads(course.given_out(lesson)), name)
    except FileNotFoundError:
        raise CourseError(
            f"You have no copy of {lesson.stem} yet: `flashlearn lab` puts the lessons into work/."
        ) from None
    except OSError as error:
        raise CourseError(f"{path} could not be read: {reason(error)}.") from error
    except (ValueError, LookupError, TypeError, AttributeError):
        raise CourseError(
            f"{path} cannot be read as a notebook: `flashlearn reset {lesson.number}` gives a fresh copy "
            "of the lesson and keeps this one."
        ) from None
    if own is None or given is None:
        raise CourseError(
            f"{path} has no cell of {name} any more: `flashlearn reset {lesson.number}` gives a fresh copy "
            "of the lesson and keeps yours."
        )
    before = _text(own)
    if before == _text(given):
        return Reset(name, path, changed=False)
    own["source"] = given["source"]
    own |= {"outputs": [], "execution_count": None}
    try:
        kept = _keep(course, name, before)
        _replace(path, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    except OSError as error:
        raise CourseError(f"{path} could not be reset and is unchanged: {reason(error)}.") from error
    return Reset(name, path, kept)


def _cell(notebook: dict[str, Any], name: str) -> dict[str, Any] | None:
    """The exercise's cell, by its id, its metadata or its function; None if there is none."""
    at = answering(notebook["cells"], [name]).get(name)
    return None if at is None else notebook["cells"][at]


def _text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def _keep(course: Course, name: str, text: str) -> Path:
    """Write the old text to a file of its own in work/old/; returns where."""
    folder = course.work / "old"
    folder.mkdir(exist_ok=True)
    kept = unused(folder / f"{name}.{timestamp()}.py")
    kept.write_text(text + "\n", encoding="utf-8")
    return kept


def _replace(path: Path, text: str) -> None:
    """Write a file atomically: a truncated notebook would be lost work."""
    descriptor, fresh = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(fresh, path.stat().st_mode)
        os.replace(fresh, path)
    except BaseException:
        Path(fresh).unlink(missing_ok=True)
        raise
