"""`flashlearn doctor`: what works on this machine, and what to do about the rest."""

from __future__ import annotations

import typer
from rich.table import Table
from rich.text import Text

from flashlearn.cli import console

MARKS = {True: ("ok", "green"), False: ("fix", "bold red"), None: ("note", "yellow")}


def doctor() -> None:
    """Check versions, GPU, compiler and the course's hooks, and say what to do about each problem."""
    with console.err.status("Checking this machine"):
        from flashlearn.course import environment

        checks = environment.report()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("", "what", "found", "what to do"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        table.add_row(Text(*MARKS[check.ok]), Text(check.name), Text(check.found), Text(check.advice))
    console.out.print(table)
    per_lesson = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for heading in ("lesson", "here its kernels are"):
        per_lesson.add_column(heading, overflow="fold")
    for number, done in environment.lessons():
        per_lesson.add_row(number, done)
    if per_lesson.row_count:
        console.out.print()
        console.out.print(per_lesson)
    broken = [check.name for check in checks if check.ok is False]
    if broken:
        console.say(f"\nTo fix before you start: {', '.join(broken)}.")
        raise typer.Exit(1)
    console.say("\nEverything works: `flashlearn lab` opens the course.")
