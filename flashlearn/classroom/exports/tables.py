"""Tables: a plain CSV of everything, and the tables that Canvas and Moodle export, filled in.

Canvas: the gradebook as "Export Entire Gradebook" gives it, with a column for each assignment, "Points
Possible" in a row of its own, and students by ID (Canvas community guide, "How do I import grades in the
Gradebook?"). Moodle: the worksheet as "Download grading worksheet" of an assignment gives it, with the
columns Identifier ("Participant 123"), Full name, Grade, Maximum Grade and Feedback comments (Moodle docs,
"Assignment settings", offline grading worksheet).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flashlearn.classroom.gradebook import Result
from flashlearn.classroom.pages.feedback import as_markdown, of
from flashlearn.classroom.pages.prose import WORDS, number, visible
from flashlearn.classroom.records import Assignment
from flashlearn.course.files import CourseError

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What a cell begins with that a spreadsheet would compute."""


@dataclass(frozen=True)
class Filled:
    """A table that was filled in, how many rows of it were, whom it has no row for, and who has no grade."""

    text: str
    rows: int
    absent: tuple[str, ...]
    ungraded: tuple[str, ...]


def plain(results: Iterable[Result], assignment: Assignment) -> str:
    """Everybody's points, in all and for each exercise, and each verdict."""
    names = [one.name for one in assignment.exercises]
    heads = [head for name in names for head in (f"{name} points", f"{name} verdict")]
    rows = [["student", "points", "out of", "attempts", "graded without a sandbox", *heads]]
    for result in results:
        attempts = max((part.attempts for part in result.parts), default=0)
        unsafe = "yes" if result.unsafe else "no"
        each = [text for one in result.exercises for text in (number(one.points), WORDS[one.verdict])]
        points = str(result.points) if result.complete else ""
        rows.append([inert(result.student.name), points, str(result.out_of), str(attempts), unsafe, *each])
    return _written(rows)


def canvas(results: Iterable[Result], exported: str, column: str) -> Filled:
    """A gradebook of Canvas with the points in the assignment's column. Raises CourseError."""
    rows = _read(exported, ("Student", "ID"))
    head = rows[0]
    at = [i for i, name in enumerate(head) if name == column or re.sub(r" \(\d+\)$", "", name) == column]
    if len(at) != 1:
        raise CourseError(
            f"The gradebook of Canvas has {len(at)} columns called {column!r}: `--column` names one."
        )
    return _fill(
        rows,
        results,
        {"canvas": head.index("ID")},
        head.index("Student"),
        {at[0]: lambda result: str(result.points)},
    )


def moodle(
    results: Iterable[Result], worksheet: str, assignment: Assignment, titles: dict[str, str]
) -> Filled:
    """A worksheet of Moodle with points and feedback. Raises CourseError."""
    rows = _read(worksheet, ("Identifier", "Full name", "Grade"))
    head = rows[0]
    writers = {head.index("Grade"): lambda result: str(result.points)}
    if "Feedback comments" in head:
        writers[head.index("Feedback comments")] = lambda result: inert(
            as_markdown(of(result, assignment, titles))
        )
    return _fill(rows, results, {"moodle": head.index("Identifier")}, head.index("Full name"), writers)


def inert(text: str) -> str:
    """Text that no spreadsheet takes for a formula, wherever in it a line begins."""
    text = visible(text)
    return f"'{text}" if text.startswith(FORMULA) or text.lstrip().startswith(FORMULA) else text


def _fill(rows: list[list[str]], results: Iterable[Result], ids: dict, name: int, writers: dict) -> Filled:
    """Rows found by the place's number for a student, or by the name if only one row has it."""
    by_id = {_digits(row[at]): row for place, at in ids.items() for row in rows[1:] if _digits(row[at])}
    names = [_name(row[name]) for row in rows[1:]]
    by_name = {_name(row[name]): row for row in rows[1:] if names.count(_name(row[name])) == 1}
    filled, absent, ungraded = 0, [], []
    for result in results:
        number_there = next((result.student.ids[place] for place in ids if place in result.student.ids), "")
        row = by_id.get(number_there) if number_there else by_name.get(_name(result.student.name))
        if row is None:
            absent.append(result.student.name)
            continue
        if not result.complete:  # the grader failed, and what the table has stays
            ungraded.append(result.student.name)
            continue
        for at, written in writers.items():
            row[at] = written(result)
        filled += 1
    return Filled(_written(rows), filled, tuple(absent), tuple(ungraded))


def _read(text: str, needed: Sequence[str]) -> list[list[str]]:
    try:
        rows = [row for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")) if row]
    except csv.Error as error:
        raise CourseError(f"The table cannot be read: {error}.") from error
    missing = [name for name in needed if not rows or name not in rows[0]]
    if missing:
        raise CourseError(f"The table has no column {missing[0]!r}: is it the one that was exported?")
    width = len(rows[0])
    return [row + [""] * (width - len(row)) for row in rows]


def _digits(text: str) -> str:
    """The number in "Participant 123", or in "123"."""
    found = re.fullmatch(r"\D*(\d+)", text.strip())
    return found[1] if found else ""


def _name(text: str) -> str:
    """A name however it is written: "Lee, Ann" and "Ann Lee" are one."""
    return " ".join(sorted(re.findall(r"[^\W_]+", text.casefold())))


def _written(rows: list[list[str]]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
