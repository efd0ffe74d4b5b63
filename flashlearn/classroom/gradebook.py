"""The gradebook: what each student handed in, and its grade, in one SQLite file with one writer.

    >>> with Gradebook.open(Path("gradebook.sqlite")) as book:
    ...     book.enrol(student, lesson, submission, part)
    ...     book.keep(grade)

Each call is a transaction that is synced to disk, so a run that is killed at any moment loses nothing that
was written before. A grade belongs to a content and an assignment, not to a student: work that did not change
is not graded again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import secrets
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flashlearn.classroom.collecting.collect import Student
from flashlearn.classroom.handout import Handout
from flashlearn.classroom.policy import Override, Policy
from flashlearn.classroom.records import (
    AssignedExercise,
    Assignment,
    ExerciseGrade,
    JudgedExercise,
    Submission,
    SubmissionGrade,
)
from flashlearn.classroom.results import NotebookResult, Result, canonical, composed, pseudonym, worth
from flashlearn.course.files import CourseError

LAYOUT = 1
TABLES = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS student (name TEXT PRIMARY KEY, ids TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS handed_in (
    student TEXT NOT NULL, lesson TEXT NOT NULL, submission TEXT NOT NULL, assignment TEXT NOT NULL,
    record TEXT NOT NULL, seen REAL NOT NULL, PRIMARY KEY (student, lesson, submission, assignment));
CREATE TABLE IF NOT EXISTS grade (
    submission TEXT NOT NULL, assignment TEXT NOT NULL, status TEXT NOT NULL,
    record TEXT NOT NULL, graded REAL NOT NULL, PRIMARY KEY (submission, assignment));
CREATE TABLE IF NOT EXISTS judged (
    submission TEXT NOT NULL, assignment TEXT NOT NULL, exercise TEXT NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (submission, assignment, exercise));
CREATE TABLE IF NOT EXISTS current (
    student TEXT NOT NULL, lesson TEXT NOT NULL, submission TEXT NOT NULL, assignment TEXT NOT NULL,
    PRIMARY KEY (student, lesson));
CREATE TABLE IF NOT EXISTS override (
    student TEXT NOT NULL, exercise TEXT NOT NULL, points REAL, comment TEXT NOT NULL,
    PRIMARY KEY (student, exercise));
CREATE TABLE IF NOT EXISTS roster (name TEXT PRIMARY KEY, ids TEXT NOT NULL);
"""


class Gradebook:
    """The open file. `Gradebook.open` locks it for writing, `Gradebook.read` only reads."""

    def __init__(self, connection: sqlite3.Connection):
        self.connection = connection

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path) -> Iterator[Gradebook]:
        """The gradebook for its one writer, created if missing. Raises CourseError for a second writer."""
        with contextlib.ExitStack() as stack:
            try:
                lock = stack.enter_context(open(f"{path}.lock", "w"))
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CourseError(
                    f"{path} is being written by another `flashlearn class`: wait for it."
                ) from None
            except OSError as error:
                raise CourseError(f"The gradebook {path} cannot be written: {error.strerror}.") from None
            book = stack.enter_context(contextlib.closing(_connected(path)))
            try:
                book.execute("PRAGMA journal_mode=WAL")
                book.execute("PRAGMA synchronous=FULL")
                book.executescript(TABLES)
                yield cls(book)
            except sqlite3.DatabaseError as error:
                raise CourseError(f"The gradebook {path} cannot be used: {error}.") from error

    @classmethod
    @contextlib.contextmanager
    def read(cls, path: Path) -> Iterator[Gradebook]:
        """The gradebook for reading, also while it is being written. Raises CourseError if there is none."""
        if not path.is_file():
            raise CourseError(f"There is no gradebook {path}: `flashlearn class grade` creates it.")
        with contextlib.closing(_connected(path)) as book:
            try:
                yield cls(book)
            except sqlite3.DatabaseError as error:
                raise CourseError(f"{path} is not a gradebook: {error}.") from error

    def begin(self, handout: Handout) -> bool:
        """Record the assignment. True if it is not the one that was graded here before."""
        assignment = handout.assignment
        record = {
            "layout": LAYOUT,
            "name": assignment.name,
            "version": assignment.version,
            "key": assignment.key,
            "exercises": [vars(one) for one in assignment.exercises],
            "titles": {one.name: handout.titles.get(one.name, "") for one in assignment.exercises},
        }
        with self.connection:
            before = self._fact("assignment")
            changed = before is not None and before["key"] != assignment.key
            self._write("INSERT OR REPLACE INTO fact VALUES ('assignment', ?)", json.dumps(record))
            salt = json.dumps(secrets.token_hex(8))
            self._write("INSERT OR IGNORE INTO fact VALUES ('salt', ?)", salt)
        return changed

    def has_another_secret(self, handout: Handout) -> bool:
        """Whether only the secret is another one than in the run before."""
        before = self._fact("assignment")
        if before is None:
            return False
        assignment = handout.assignment
        same = (before["version"], before["exercises"]) == (
            assignment.version,
            [vars(one) for one in assignment.exercises],
        )
        return same and before["key"] != assignment.key

    def of_another_assignment(self, keys: Mapping[str, str]) -> list[tuple[Student, str, Submission]]:
        """What counts for a lesson, and was handed in when other exercises, points or rules were asked."""
        rows = self.connection.execute(
            "SELECT s.name, s.ids, c.lesson, c.assignment, h.record FROM current c"
            " JOIN handed_in h USING (student, lesson, submission, assignment)"
            " JOIN student s ON s.name = c.student ORDER BY s.name, c.lesson"
        )
        return [
            (Student(name, json.loads(ids)), lesson, submission_from(record))
            for name, ids, lesson, assignment, record in rows.fetchall()
            if keys.get(lesson) != assignment
        ]

    def withdraw(self, student: Student, lesson: str) -> None:
        """A lesson is not asked any more: what was handed in for it does not count."""
        with self.connection:
            self._write("DELETE FROM current WHERE student = ? AND lesson = ?", student.name, lesson)

    def enrol(self, student: Student, lesson: str, submission: Submission, assignment: Assignment) -> None:
        """Record what a student handed in; it is now what counts for this lesson."""
        at = (student.name, lesson, submission.key, assignment.key)
        record = json.dumps(dataclasses.asdict(submission))
        with self.connection:
            self._write(
                "INSERT OR REPLACE INTO student VALUES (?, ?)", student.name, json.dumps(dict(student.ids))
            )
            self._write(
                "INSERT INTO handed_in VALUES (?, ?, ?, ?, ?, ?)"
                " ON CONFLICT DO UPDATE SET record = excluded.record",
                *at,
                record,
                time.time(),
            )
            self._write("INSERT OR REPLACE INTO current VALUES (?, ?, ?, ?)", *at)

    def keep(self, grade: SubmissionGrade) -> None:
        """Store a grade. It replaces one of the same submission, and its exercises judged so far."""
        record = json.dumps(dataclasses.asdict(dataclasses.replace(grade, figures=dict(grade.figures))))
        with self.connection:
            self._write(
                "INSERT OR REPLACE INTO grade VALUES (?, ?, ?, ?, ?)",
                grade.submission,
                grade.assignment,
                grade.status,
                record,
                time.time(),
            )
            if grade.status != "infrastructure":
                self._forget(grade.submission, grade.assignment)

    def note(self, submission: str, assignment: str, judged: JudgedExercise) -> None:
        """Store one exercise of a submission that is still being graded.

        It survives the process. It need not survive a power failure: it would be judged again.
        """
        record = json.dumps(dataclasses.asdict(judged))
        self._write("PRAGMA synchronous=NORMAL")
        with self.connection:
            at = (submission, assignment, judged.grade.name)
            self._write("INSERT OR REPLACE INTO judged VALUES (?, ?, ?, ?)", *at, record)
        self._write("PRAGMA synchronous=FULL")

    def judged(self, submission: str, assignment: str) -> tuple[JudgedExercise, ...]:
        """The exercises of a submission that were judged before its grading was interrupted."""
        found = self.connection.execute(
            "SELECT record FROM judged WHERE submission = ? AND assignment = ?", (submission, assignment)
        )
        return tuple(judged_from(record) for (record,) in found.fetchall())

    def forget(self, submission: str, assignment: str) -> None:
        """Delete the exercises judged so far, so that all of the submission is judged anew."""
        with self.connection:
            self._forget(submission, assignment)

    def has(self, submission: str, assignment: str) -> bool:
        """Whether this content has a grade already; a failure of the grader does not count."""
        found = self.connection.execute(
            "SELECT status FROM grade WHERE submission = ? AND assignment = ?", (submission, assignment)
        ).fetchone()
        return found is not None and found[0] != "infrastructure"

    def assignment(self) -> tuple[Assignment, dict[str, str]]:
        """What was graded, without its draws, and the exercises' titles. Raises CourseError if empty."""
        record = self._fact("assignment")
        if record is None:
            raise CourseError("The gradebook is empty: `flashlearn class grade` fills it.")
        asked = tuple(AssignedExercise(**one) for one in record["exercises"])
        return Assignment(record["name"], asked, record["version"], key=record["key"]), record["titles"]

    def results(self) -> Iterator[Result]:
        """The results of all students, by name."""
        assignment, _ = self.assignment()
        policy, overrides = self.policy(), self._overrides()
        for student in self._students():
            parts = tuple(self._parts(student.name, policy))
            yield composed(student, parts, assignment, policy, overrides.get(student.name, {}))

    def policy(self) -> Policy:
        """What the teacher decided about late work and attempts."""
        return Policy(**(self._fact("policy") or {}))

    def decide(self, policy: Policy) -> None:
        """Keep a policy, in place of the one before."""
        record = json.dumps(dataclasses.asdict(policy))
        with self.connection:
            self._write("INSERT OR REPLACE INTO fact VALUES ('policy', ?)", record)

    def override(self, student: str, exercise: str, by: Override | None) -> None:
        """Keep a teacher's word on one exercise of one student; None takes it back."""
        with self.connection:
            self._write("DELETE FROM override WHERE student = ? AND exercise = ?", student, exercise)
            if by is not None:
                at = (student, exercise, by.points, by.comment)
                self._write("INSERT INTO override VALUES (?, ?, ?, ?)", *at)

    def enlist(self, students: Iterable[Student]) -> None:
        """Keep the roster of the class, in place of the one before."""
        with self.connection:
            self._write("DELETE FROM roster")
            for one in students:
                self._write(
                    "INSERT OR REPLACE INTO roster VALUES (?, ?)", one.name, json.dumps(dict(one.ids))
                )

    def names(self) -> dict[str, str]:
        """The students' names by their pseudonyms, for grading without names."""
        salt = self._fact("salt") or "none"
        names = [student.name for student in self._students()]
        return {pseudonym(salt, name): name for name in names}

    def _students(self) -> list[Student]:
        """Everybody who handed in, and everybody else of the roster, by name."""
        rows = self.connection.execute("SELECT name, ids FROM student").fetchall()
        here = [Student(name, json.loads(ids)) for name, ids in rows]
        ids = {pair for student in here for pair in student.ids.items()}
        names = {canonical(student.name) for student in here}
        if self._has_table("roster"):
            for name, known in self.connection.execute("SELECT name, ids FROM roster").fetchall():
                other = Student(name, json.loads(known))
                if canonical(name) not in names and not ids & set(other.ids.items()):
                    here.append(other)
        return sorted(here, key=lambda student: student.name)

    def _overrides(self) -> dict[str, dict[str, Override]]:
        found: dict[str, dict[str, Override]] = {}
        if self._has_table("override"):
            rows = self.connection.execute("SELECT student, exercise, points, comment FROM override")
            for student, exercise, points, comment in rows.fetchall():
                found.setdefault(student, {})[exercise] = Override(points, comment)
        return found

    def _has_table(self, name: str) -> bool:
        """Whether there is a table: a gradebook of an earlier version has fewer."""
        where = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
        return self.connection.execute(where, (name,)).fetchone() is not None

    def _parts(self, student: str, policy: Policy) -> Iterator[NotebookResult]:
        """The notebook that counts for each lesson: the latest, or the best of all that were handed in."""
        for part in self._latest(student):
            if policy.attempts != "best":
                yield part
                continue
            tried = self._attempts(student, part.lesson)
            yield max((part, *(dataclasses.replace(part, submission=s, grade=g) for s, g in tried)),
                      key=lambda one: worth(one, policy))  # fmt: skip

    def _attempts(self, student: str, lesson: str) -> list[tuple[Submission, SubmissionGrade]]:
        """A student's graded versions of a notebook, for the exercises that are asked now."""
        rows = self.connection.execute(
            "SELECT h.record, g.record FROM current c JOIN handed_in h USING (student, lesson, assignment)"
            " JOIN grade g ON g.submission = h.submission AND g.assignment = h.assignment"
            " WHERE c.student = ? AND c.lesson = ? AND g.status != 'infrastructure' ORDER BY h.seen DESC",
            (student, lesson),
        )
        return [(submission_from(one), grade_from(grade)) for one, grade in rows.fetchall()]

    def _latest(self, student: str) -> Iterator[NotebookResult]:
        rows = self.connection.execute(
            "SELECT c.lesson, h.record, g.record, (SELECT count(DISTINCT coalesce("
            "  nullif(json_extract(a.record, '$.content'), ''), a.submission)) FROM handed_in a"
            "  WHERE a.student = c.student AND a.lesson = c.lesson)"
            " FROM current c JOIN handed_in h USING (student, lesson, submission, assignment)"
            " LEFT JOIN grade g USING (submission, assignment) WHERE c.student = ? ORDER BY c.lesson",
            (student,),
        )
        for lesson, submission, grade, attempts in rows.fetchall():
            yield NotebookResult(
                lesson, submission_from(submission), grade_from(grade) if grade else None, attempts
            )

    def _forget(self, submission: str, assignment: str) -> None:
        self._write("DELETE FROM judged WHERE submission = ? AND assignment = ?", submission, assignment)

    def _fact(self, name: str) -> Any:
        found = self.connection.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return json.loads(found[0]) if found else None

    def _write(self, statement: str, *values: Any) -> None:
        self.connection.execute(statement, values)


def submission_from(record: str) -> Submission:
    """A submission out of its record."""
    from flashlearn.classroom.records import CodeCell

    found = json.loads(record)
    cells = tuple(CodeCell(**one) for one in found.pop("cells"))
    return Submission(**{k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}, cells=cells)


def grade_from(record: str) -> SubmissionGrade:
    """A grade out of its record."""
    found = json.loads(record)
    each = tuple(ExerciseGrade(**one) for one in found.pop("exercises"))
    return SubmissionGrade(
        **{k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}, exercises=each
    )


def judged_from(record: str) -> JudgedExercise:
    """A judged exercise out of its record."""
    found = json.loads(record)
    return JudgedExercise(ExerciseGrade(**found["grade"]), tuple(found["notes"]), tuple(found["layers"]))


def _connected(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, timeout=30)
    except sqlite3.Error as error:
        raise CourseError(f"The gradebook {path} cannot be opened: {error}.") from error
