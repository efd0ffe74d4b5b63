"""`flashlearn leaderboard`: the capstone's entries on this machine, as a table and as a page."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from flashlearn.cli import console
from flashlearn.course.files import Course, CourseError

if TYPE_CHECKING:
    from flashlearn.course.leaderboard import Entry

NONE = "There are no entries yet: the last section of lesson 15 adds them, and so does `--enter NAME`."


def leaderboard(
    enter: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Enter your capstone of lesson 15, as last saved, by this name."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page with the ladder over time to this file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show how fast the attention of lesson 15's capstone is beside SDPA, for each device."""
    from flashlearn.course.leaderboard import Leaderboard, by_device

    if enter is not None:
        _enter(enter)
    entries = Leaderboard().entries()
    if page is not None:
        _write(page, entries)
    if as_json:
        console.say_json([_to_dict(entry) for entry in entries])
        return
    if not entries:
        console.say(NONE)
    for device, found in by_device(entries).items():
        console.out.print(_table(device, found))


def _enter(name: str) -> None:
    from flashlearn.course.authoring import load_exercise
    from flashlearn.course.leaderboard import enter

    course = Course.here()
    path = course.copy_of(course.exercises()["capstone"])
    if not path.exists():
        raise CourseError(f"There is no {path.name} in {course.work.name}/: `flashlearn lab` creates it.")
    console.say(repr(enter(load_exercise(path, "capstone"), name)))


def _write(page: Path, entries: list[Entry]) -> None:
    from flashlearn.course.pages import leaderboard_page

    try:
        page.write_text(leaderboard_page.render(entries), encoding="utf-8")
    except OSError as error:
        raise CourseError(f"The page could not be written: {error}.") from None
    console.err.print(f"The page is {page}.", soft_wrap=True)


def _table(device: str, entries: list[Entry]) -> Table:
    table = Table(title=device, box=box.SIMPLE_HEAD)
    for heading in ("rank", "name", "ratio to SDPA", "worst draw", "best draw", "date"):
        table.add_column(heading, justify="left" if heading == "name" else "right")
    for rank, entry in enumerate(entries, 1):
        ratios = [row.ratio for row in entry.rows]
        numbers = (entry.ratio, min(ratios), max(ratios))
        table.add_row(str(rank), entry.name, *(f"{n:.2f}" for n in numbers), f"{entry.time:%Y-%m-%d}")
    return table


def _to_dict(entry: Entry) -> dict:
    rows = [dataclasses.asdict(row) | {"ratio": row.ratio} for row in entry.rows]
    return dataclasses.asdict(entry) | {"time": entry.time.isoformat(), "rows": rows}
