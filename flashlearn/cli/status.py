"""`flashlearn status`: the lessons, their exercises, how far you are and what is next."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from flashlearn.cli import console
from flashlearn.course.files import Course, Lesson
from flashlearn.course.progress import Progress, Standing, standings

Standings = dict[Lesson, tuple[Standing, ...]]
ROOMY = 76  # columns: from here on a long title goes on in a second line, before that it is cut
BAR = len("passed 2026-01-31")  # columns: no wider than what stands below it


def status(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show lessons and exercises, how far you are, and what is next."""
    if as_json:
        course = Course.here()
        console.say_json(to_dict(standings(course, Progress()), course.older_copies()))
    else:
        show(console.out)


def show(to: Console) -> None:
    """Print where the learner stands; Jupyter shows a rich console's output as HTML."""
    course = Course.here()
    where = standings(course, Progress())
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for title in (False, False, False, True):
        table.add_column(no_wrap=not title)  # where it is narrow, titles give way and names do not
    for lesson, exercises in where.items():
        passed = sum(s.passed is not None for s in exercises)
        total = len(exercises)
        table.add_row(
            Text(lesson.stem, style="bold"),
            ProgressBar(total=max(total, 1), completed=passed if total else 1, width=BAR),
            f"{passed} of {total}",
            Text(lesson.title, style="bold", no_wrap=to.width < ROOMY, overflow="ellipsis"),
        )
        for standing in exercises:
            table.add_row(*_row(standing))
    to.print(table)
    to.print(f"\n{_next_step(course, where)}", soft_wrap=True, markup=False)
    if older := about_older_copies(course.older_copies()):
        to.print(older, soft_wrap=True, markup=False)


def to_dict(where: Standings, older: tuple[Lesson, ...] = ()) -> dict[str, Any]:
    """The same as plain data: what `status --json` prints."""
    upcoming = next_exercise(where)
    everything = [standing for exercises in where.values() for standing in exercises]
    return {
        "passed": sum(s.passed is not None for s in everything),
        "exercises": len(everything),
        "next": {"lesson": upcoming[0].stem, "exercise": upcoming[1]} if upcoming else None,
        "older_copies": [lesson.stem for lesson in older],
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
                    }
                    for s in exercises
                ],
            }
            for lesson, exercises in where.items()
        ],
    }


def next_exercise(where: Standings) -> tuple[Lesson, str] | None:
    """The first exercise in reading order that has not passed; None when all have."""
    for lesson, exercises in where.items():
        for standing in exercises:
            if standing.passed is None:
                return lesson, standing.exercise
    return None


def about_older_copies(older: tuple[Lesson, ...]) -> str:
    """One sentence on copies in work/ whose lesson is newer than they are; "" if there are none."""
    if not older:
        return ""
    first, *others = numbers = [lesson.number for lesson in older]
    if not others:
        return (
            f"Your copy of lesson {first} was made from an older version of the lesson: "
            f"`flashlearn reset {first}` brings today's and keeps yours in work/old/."
        )
    return (
        f"Your copies of lessons {', '.join(numbers[:-1])} and {numbers[-1]} were made from older versions "
        f"of these lessons: `flashlearn reset {first}`, and so for each number, brings today's and keeps "
        "yours in work/old/."
    )


def _row(standing: Standing) -> tuple[Text, Text, str, Text]:
    if standing.passed:
        mark = Text(f"passed {standing.passed.astimezone():%Y-%m-%d}", style="green")
    else:
        mark = Text("tried", style="yellow") if standing.attempts else Text("not started", style="dim")
    effort = []
    if standing.attempts:
        effort.append(console.count(standing.attempts, "attempt"))
    if standing.hints:
        effort.append(console.count(standing.hints, "hint"))
    return Text(f"   {standing.exercise}"), mark, "", Text(", ".join(effort), style="dim")


def _next_step(course: Course, where: Standings) -> str:
    upcoming = next_exercise(where)
    if upcoming is None:
        return "All exercises have passed."
    lesson, exercise = upcoming
    return f"Next: {exercise} in {course.copy_of(lesson)}; `flashlearn lab` opens it."
