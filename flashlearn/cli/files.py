"""`flashlearn hint` and `flashlearn reset`."""

from __future__ import annotations

from typing import Annotated

import typer

from flashlearn.cli import console, names
from flashlearn.course.files import Course, CourseError, unknown


def hint(
    name: Annotated[str, typer.Argument(help="An exercise's name.", autocompletion=names.exercises)],
    step: Annotated[int | None, typer.Option(help="Show this hint (1, 2, 3) instead of the next.")] = None,
) -> None:
    """Show the next of an exercise's three hints: the concept, the shape, the line."""
    from flashlearn.course import hints

    try:
        console.say(str(hints.hint(name, step)))
    except LookupError as error:  # an unknown name, with its close ones
        raise CourseError(str(error)) from error


def reset(
    notebook: Annotated[
        str, typer.Argument(help="A lesson: 02, 02_softmax or its file.", autocompletion=names.notebooks)
    ],
) -> None:
    """Put a fresh copy of a lesson into work/; your old copy is kept in work/old/."""
    course = Course.here()
    lesson = course.find_lesson(notebook)
    if lesson is None:
        if owner := course.exercises().get(notebook):
            raise CourseError(
                f"{notebook} is an exercise; lessons are reset whole: `flashlearn reset {owner.stem}`."
            )
        raise CourseError(unknown("lesson", notebook, [lesson.stem for lesson in course.lessons()]))
    fresh, kept = course.reset(lesson)
    console.say(f"{fresh} is as it was given out.")
    if kept:
        console.say(f"Your old copy is {kept}. If the lesson is open in JupyterLab, reload it from disk.")
