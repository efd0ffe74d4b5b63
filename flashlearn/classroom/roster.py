"""The roster of a class: a table of its students, as a platform exports it or as a teacher writes it.

    >>> [student.name for student in read_roster(table)]        # a line "Ann Lee,ann@example.org"
    ['Ann Lee']

Who is in it and has handed in nothing gets a row in every table and page.
"""

from __future__ import annotations

import csv
import io
import re

from flashlearn.classroom.collecting.collect import Student
from flashlearn.course.files import CourseError

NAMES = (("name",), ("student",), ("full name",), ("first name", "last name"), ("firstname", "lastname"))
"""Columns that make a name: the first of these sets that a table has."""
IDS = {
    "canvas": ("id", "canvas"), "moodle": ("identifier", "moodle"), "gradescope": ("sid", "gradescope"),
    "email": ("email", "email address", "sis login id"),
}  # fmt: skip
"""Columns that have a platform's id of a student."""
NO_STUDENTS = frozenset({"", "points possible", "student, test", "test student"})


def read_roster(text: str) -> tuple[Student, ...]:
    """The students of a table with commas or semicolons. Raises CourseError if no column has names."""
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    head = [one.strip().casefold() for one in rows[0]] if rows else []
    columns = next((one for one in NAMES if all(name in head for name in one)), None)
    if columns is None:
        raise CourseError('The roster has no column called "name": its first line names the columns.')
    found = []
    for row in rows[1:]:
        cells = dict(zip(head, row, strict=False))
        name = " ".join(cells.get(column, "").strip() for column in columns).strip()
        if name.casefold() not in NO_STUDENTS:
            found.append(Student(_in_order(name), _ids(cells)))
    return tuple(found)


def _ids(cells: dict[str, str]) -> dict[str, str]:
    found = {}
    for place, columns in IDS.items():
        value = next((cells[one].strip() for one in columns if cells.get(one, "").strip()), "")
        if place == "moodle":
            value = re.sub(r"^\D+", "", value)
        if value:
            found[place] = value
    return found


def _in_order(name: str) -> str:
    """ "Lee, Ann" as "Ann Lee"."""
    last, comma, first = name.partition(",")
    return f"{first.strip()} {last.strip()}" if comma and first.strip() else name
