"""`flashlearn hint`, `flashlearn solution` and `flashlearn reset`."""

from __future__ import annotations

from typing import Annotated

import typer

from flashlearn.cli import completion, console
from flashlearn.course import resetting
from flashlearn.course.files import CourseError


def hint(
    name: Annotated[str, typer.Argument(help="An exercise's name.", autocompletion=completion.exercises)],
    step: Annotated[int | None, typer.Option(help="Show this hint (1, 2, 3) instead of the next.")] = None,
) -> None:
    """Show the next of an exercise's three hints: the concept, the shape, the line."""
    from flashlearn.course import hints

    try:
        console.say(str(hints.hint(name, step)))
    except LookupError as error:  # an unknown name, with its close ones
        raise CourseError(str(error)) from error


def solution(
    name: Annotated[str, typer.Argument(help="An exercise's name.", autocompletion=completion.exercises)],
    anyway: Annotated[bool, typer.Option("--anyway", help="Show it even before a first attempt.")] = False,
) -> None:
    """Show an exercise's solution, explained, once you have tried it."""
    from flashlearn.course import solutions

    try:
        found = solutions.solution(name, anyway)
    except LookupError as error:
        raise CourseError(str(error)) from error
    if found.shown:
        console.say(str(found))
    else:
        console.say(str(found).replace(solutions.solution_call(name), f"flashlearn solution {name} --anyway"))


def reset(
    what: Annotated[
        str, typer.Argument(help="A lesson (02, 02_softmax) or an exercise.", autocompletion=completion.both)
    ],
) -> None:
    """Restore an exercise's cell, or a whole lesson; what you wrote is kept in work/old/."""
    console.say(str(resetting.reset(what)))
