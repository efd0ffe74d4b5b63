"""Tables: a plain CSV of everything, and the tables that Canvas and Moodle export, filled in.

Canvas: the gradebook as "Export Entire Gradebook" gives it. Its importer (lib/gradebook_importer.rb of
instructure/canvas-lms) wants the student's name or first and last name, then "ID", then "Section"; it takes
commas or semicolons, and leaves a column alone that "Points Possible" calls read only. A grade of EX is an
excuse. Moodle: the worksheet as "Download grading worksheet" of an assignment gives it. Its importer
(mod/assign/feedback/offline of moodle/moodle) wants the columns Identifier ("Participant 123"), Grade and
"Last modified (grade)"; it passes over a grade above the maximum without a word, and takes feedback for HTML.
Where marking is anonymous, no column has names.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from flashlearn.classroom.pages.feedback import as_fragment, of
from flashlearn.classroom.pages.formatting import WORDS, number, visible
from flashlearn.classroom.records import Assignment
from flashlearn.classroom.results import Result, canonical
from flashlearn.course.files import CourseError

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters that make a spreadsheet read a cell as a formula."""


@dataclass(frozen=True)
class FilledTable:
    """A filled table, the number of rows filled, students without a row, and students without a grade."""

    text: str
    rows: int
    absent: tuple[str, ...]
    ungraded: tuple[str, ...]


def plain(results: Iterable[Result], assignment: Assignment) -> str:
    """Every student's points, in all and for each exercise, and each verdict."""
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


def canvas(results: Iterable[Result], exported: str, column: str) -> FilledTable:
    """A gradebook of Canvas with the points in the assignment's column. Raises CourseError."""
    table = _read(exported, ("ID",), (("Student",), ("LastName", "FirstName")))
    head = table.rows[0]
    at = [i for i, name in enumerate(head) if name == column or re.sub(r" \(\d+\)$", "", name) == column]
    if len(at) != 1:
        raise CourseError(
            f"The gradebook of Canvas has {len(at)} columns called {column!r}: `--column` names one."
        )
    if any("Points Possible" in row[0] and "read only" in row[at[0]] for row in table.rows[1:]):
        raise CourseError(f"Canvas computes the column {column!r} itself: `--column` names an assignment's.")
    excused = {id(row) for row in table.rows if row[at[0]].strip().upper() == "EX"}
    return _fill(
        table, results, "canvas", head.index("ID"), {at[0]: lambda result: str(result.points)}, excused
    )


def moodle(
    results: Iterable[Result], worksheet: str, assignment: Assignment, titles: dict[str, str]
) -> FilledTable:
    """A worksheet of Moodle with points and feedback. Raises CourseError."""
    table = _read(worksheet, ("Identifier", "Grade", "Last modified (grade)"), (("Full name",), ()))
    head = table.rows[0]
    out_of = sum(one.points for one in assignment.exercises)
    if "Maximum Grade" in head:
        for most in {row[head.index("Maximum Grade")] for row in table.rows[1:]}:
            if re.fullmatch(r"\d+(\.\d+)?", most) and float(most) < out_of:
                raise CourseError(
                    f"Moodle takes no more than {most} points here, and {assignment.name} has {out_of}: "
                    "raise the assignment's maximum grade in Moodle, and download the worksheet again."
                )
    writers = {head.index("Grade"): lambda result: str(result.points)}
    if "Feedback comments" in head:
        writers[head.index("Feedback comments")] = lambda result: inert(
            as_fragment(of(result, assignment, titles))
        )
    return _fill(table, results, "moodle", head.index("Identifier"), writers)


def inert(text: str) -> str:
    """Text that no spreadsheet reads as a formula, at the start of any line."""
    text = visible(text)
    return f"'{text}" if text.startswith(FORMULA) or text.lstrip().startswith(FORMULA) else text


@dataclass(frozen=True)
class _Table:
    """Rows of equal width, the columns of the name, and the delimiter."""

    rows: list[list[str]]
    name: tuple[int, ...]
    delimiter: str

    def name_of(self, row: list[str]) -> str:
        return canonical(" ".join(row[i] for i in self.name))


def _fill(
    table: _Table, results: Iterable[Result], place: str, at: int, writers: dict, kept: set[int] = frozenset()
) -> FilledTable:
    """Fill rows found by the platform's id of a student, or by a name that only one row has."""
    rows = table.rows[1:]
    by_id = {_digits(row[at]): row for row in rows if _digits(row[at])}
    names = Counter(table.name_of(row) for row in rows)
    by_name = {table.name_of(row): row for row in rows if names[table.name_of(row)] == 1 and table.name}
    filled, absent, ungraded = 0, [], []
    for result in results:
        known = result.student.ids.get(place, "")
        row = by_id.get(known) if known else by_name.get(canonical(result.student.name))
        if row is None:
            absent.append(result.student.name)
        elif not result.complete:  # the grader failed: the table keeps its value
            ungraded.append(result.student.name)
        elif id(row) not in kept:
            for column, written in writers.items():
                row[column] = written(result)
            filled += 1
    return FilledTable(_written(table.rows, table.delimiter), filled, tuple(absent), tuple(ungraded))


def _read(text: str, needed: Sequence[str], names: Sequence[Sequence[str]]) -> _Table:
    """A table with the required columns, and one of the sets of name columns."""
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    except csv.Error as error:
        raise CourseError(f"The table cannot be read: {error}.") from error
    head = rows[0] if rows else []
    named = next((one for one in names if all(name in head for name in one)), None)
    missing = ([names[0][0]] if named is None else []) + [name for name in needed if name not in head]
    if missing:
        raise CourseError(f"The table has no column {missing[0]!r}: is it the one that was exported?")
    padded = [row + [""] * (len(head) - len(row)) for row in rows]
    return _Table(padded, tuple(head.index(name) for name in named or ()), delimiter)


def _digits(text: str) -> str:
    """The number in "Participant 123", or in "123"."""
    found = re.fullmatch(r"\D*(\d+)", text.strip())
    return found[1] if found else ""


def _written(rows: list[list[str]], delimiter: str = ",") -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
