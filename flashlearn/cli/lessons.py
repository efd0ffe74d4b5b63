"""`flashlearn lessons`: the learner's copies of the lessons, for a Jupyter front end of their own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from flashlearn.cli import console, lab
from flashlearn.course.files import Course, CourseError, reason


def lessons(
    folder: Annotated[
        Path | None, typer.Argument(help="Where work/ is made; without it where `flashlearn lab` makes it.")
    ] = None,
) -> None:
    """Put the lessons into FOLDER/work (once; yours are never overwritten), and start nothing.

    Open them there with JupyterLab, Jupyter Notebook, VS Code or whatever you use.
    """
    course = Course.here() if folder is None else Course(_made(folder))
    if not lab.prepare(course):
        console.say(f"All lessons are in {course.work} already.")
    first = course.copy_of(course.lessons()[0])
    console.say(f"Begin with {first} in any Jupyter front end. Its kernel must be {sys.executable}.")


def _made(folder: Path) -> Path:
    try:
        folder.expanduser().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"{folder} cannot be made: {reason(error)}.") from error
    return folder.expanduser().absolute()
