"""`flashlearn status`: the lessons, their exercises, how far you are and what is next."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from flashlearn.cli import console
from flashlearn.course.files import Course
from flashlearn.course.overview import Overview, survey
from flashlearn.course.pages import overview_text
from flashlearn.course.progress import Progress


def status(
    everything: Annotated[bool, typer.Option("--all", help="List the exercises of every lesson.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Show how far you are, what is next, and the lessons."""
    overview = survey(Course.here(), Progress())
    if as_json:
        console.say_json(to_dict(overview))
    else:
        show(overview, console.out, everything)


def show(overview: Overview, to: Console, everything: bool = False) -> None:
    """Print the learner's progress. On narrow screens titles are cut, but not paths: they can be copied."""
    for line in overview_text.lines(overview, everything):
        text = Text(line.text, style=line.style)
        if line.table:
            to.print(text, no_wrap=True, overflow="ellipsis")
        else:
            to.print(text, soft_wrap=True)


def to_dict(overview: Overview) -> dict[str, Any]:
    """The same as plain data: what `status --json` prints."""
    upcoming = overview.next
    return {
        "passed": overview.passed,
        "exercises": overview.total,
        "next": {"lesson": upcoming[0].stem, "exercise": upcoming[1]} if upcoming else None,
        "older_copies": [lesson.stem for lesson in overview.older],
        "lessons": [
            {
                "lesson": lesson.stem,
                "title": lesson.title,
                "exercises": [
                    {
                        "name": s.exercise,
                        "passed": s.passed.isoformat() if s.passed else None,
                        "attempts": s.attempts,
                        "hints": s.hints,
                        "solution_seen": s.solution_seen,
                    }
                    for s in standings
                ],
            }
            for lesson, standings in overview.lessons.items()
        ],
    }
