"""A learner's progress in SQLite beside the course: attempts, passes, hints taken, solutions seen.

    >>> progress = Progress()
    >>> progress.attempt("softmax_forward", Status.PASS, seconds=0.8)
    >>> progress.passed()
    {'softmax_forward': datetime.datetime(2026, 3, 1, 9, 30, tzinfo=datetime.timezone.utc)}

Nothing here may prevent a check. A failed write is reported once, in one sentence on stderr, and the work
goes on.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flashlearn.course.files import home, reason, timestamp, unused
from flashlearn.later import is_installed
from flashlearn.outcome import Status

if TYPE_CHECKING:
    import sqlite3

SCHEMA = """
CREATE TABLE IF NOT EXISTS attempts (
    exercise TEXT NOT NULL, status TEXT NOT NULL, seconds REAL NOT NULL, time TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS attempts_by_exercise ON attempts (exercise, status);
CREATE TABLE IF NOT EXISTS hints (
    exercise TEXT NOT NULL, step INTEGER NOT NULL, time TEXT NOT NULL, PRIMARY KEY (exercise, step)
);
CREATE TABLE IF NOT EXISTS solutions (exercise TEXT NOT NULL PRIMARY KEY, time TEXT NOT NULL);
PRAGMA user_version = 1;
"""

BUSY_SECONDS = 10.0
"""Seconds that a write waits for another notebook's; each holds the file for some milliseconds."""

DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_ERROR")
"""Codes for a file that cannot be ours; SQLITE_ERROR means that a table lacks our columns."""

NO_SQLITE = "Your progress is not recorded: this Python has no sqlite3."

_reported: set[str] = set()


class Progress:
    """The progress file at `path` (default: `home()/progress.sqlite`), opened for each query.

    Each method is one short transaction on its own connection, so that two notebooks, or a notebook and a
    shell, never wait for each other longer than one transaction takes.
    """

    def __init__(self, path: Path | None = None):
        self.path = Path(path) if path else home() / "progress.sqlite"

    def attempt(self, name: str, status: Status, seconds: float) -> bool:
        """Record a check of exercise `name` that took `seconds`. False if it could not be recorded."""
        row = (name, status.name, float(seconds), _now())
        return self._write("INSERT INTO attempts VALUES (?, ?, ?, ?)", row)

    def hint_taken(self, name: str, step: int) -> bool:
        """Record that hint `step` (1, 2, 3) of exercise `name` was shown. False if that failed."""
        return self._write("INSERT OR IGNORE INTO hints VALUES (?, ?, ?)", (name, step, _now()))

    def solution_seen(self, name: str) -> bool:
        """Record that the solution of exercise `name` was shown. False if that failed."""
        return self._write("INSERT OR IGNORE INTO solutions VALUES (?, ?)", (name, _now()))

    def passed(self) -> dict[str, datetime]:
        """When each passed exercise passed first (UTC)."""
        rows = self._read(
            "SELECT exercise, MIN(time) FROM attempts WHERE status = 'PASS' GROUP BY exercise ORDER BY 2"
        )
        return {name: datetime.fromisoformat(time) for name, time in rows}

    def attempts(self) -> dict[str, int]:
        """How often each exercise was checked. An unchanged stub does not count as an attempt."""
        return dict(
            self._read("SELECT exercise, COUNT(*) FROM attempts WHERE status != 'TODO' GROUP BY exercise")
        )

    def started(self) -> set[str]:
        """Exercises with any record: a check (also of an untouched stub), a hint, a solution."""
        checked = self._read("SELECT DISTINCT exercise FROM attempts")
        return {name for name, *_ in checked} | set(self.all_hints()) | self.solutions()

    def hints(self, name: str) -> int:
        """How many of the hints of exercise `name` were taken: the highest step shown."""
        return self.all_hints().get(name, 0)

    def all_hints(self) -> dict[str, int]:
        """`hints` of every exercise that has some."""
        return dict(self._read("SELECT exercise, MAX(step) FROM hints GROUP BY exercise"))

    def solutions(self) -> set[str]:
        """Exercises whose solution was shown."""
        # an older file without this table is not damaged
        if not self._read("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'solutions'"):
            return set()
        return {name for (name,) in self._read("SELECT exercise FROM solutions")}

    def _write(self, statement: str, row: tuple) -> bool:
        def insert() -> bool:
            with self._open() as connection:
                connection.executescript("BEGIN IMMEDIATE;" + SCHEMA)
                connection.execute(statement, row)
                connection.execute("COMMIT")
            return True

        return self._guarded(insert, otherwise=False)

    def _read(self, statement: str) -> list[tuple]:
        def select() -> list[tuple]:
            if not self.path.exists() or not self.path.stat().st_size:
                return []
            with self._open() as connection:
                return connection.execute(statement).fetchall()

        return self._guarded(select, otherwise=[])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(_connect(self.path)) as connection:
            yield connection

    def _guarded(self, action: Callable[[], Any], otherwise: Any, again: bool = True) -> Any:
        if not is_installed("sqlite3"):
            _report_once(NO_SQLITE)
            return otherwise
        import sqlite3

        seen = _identity(self.path)
        try:
            return action()
        except sqlite3.DatabaseError as error:
            code = (
                getattr(error, "sqlite_errorcode", 0) & 0xFF
            )  # the low byte of an extended code is the plain one
            if code in {getattr(sqlite3, name) for name in DAMAGED} and again:
                _set_aside(self.path, seen)
                return self._guarded(action, otherwise, again=False)
            _report_once(f"Your progress could not be read or written at {self.path}: {_plain(code, error)}.")
        except OSError as error:
            _report_once(f"Your progress could not be read or written at {self.path}: {reason(error)}.")
        return otherwise


def append_verdict(verdict: Mapping[str, Any]) -> None:
    """Append one check's result as a line of JSON to the file $FLASHLEARN_VERDICTS, if that is set."""
    path = os.environ.get("FLASHLEARN_VERDICTS")
    if not path:
        return
    line = json.dumps(dict(verdict), default=lambda value: getattr(value, "name", str(value))) + "\n"
    try:
        with open(path, "ab", buffering=0) as file:  # one write: lines of two processes never mix
            file.write(line.encode())
    except OSError as error:
        _report_once(f"The verdict could not be written to {path}: {reason(error)}.")


def _connect(path: Path) -> sqlite3.Connection:
    import sqlite3

    # rollback journal rather than WAL: it works on network file systems too, and transactions are short
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _set_aside(path: Path, seen: tuple[int, int] | None) -> None:
    """Rename the damaged file, unless another process has just done so and created a new one."""
    if seen is None or _identity(path) != seen:
        return
    kept = unused(path.with_name(f"{path.stem}.damaged-{timestamp()}{path.suffix}"))
    try:
        # a leftover journal would be replayed into the new file
        for companion in ("-journal", "-wal", "-shm"):
            if (journal := Path(f"{path}{companion}")).exists():
                journal.rename(f"{kept}{companion}")
        path.rename(kept)
    except OSError:
        return  # the second attempt reports what is wrong
    _report_once(f"The progress file was damaged: it is kept as {kept}, and a new one was started.")


def _plain(code: int, error: Exception) -> str:
    import sqlite3

    sentences = {
        sqlite3.SQLITE_READONLY: "the file or its folder is read-only",
        sqlite3.SQLITE_CANTOPEN: "the file cannot be opened there",
        sqlite3.SQLITE_FULL: "the disk is full",
        sqlite3.SQLITE_BUSY: f"another program kept the file locked for {BUSY_SECONDS:.0f} s",
    }
    return sentences.get(code, str(error))


def _report_once(sentence: str) -> None:
    if sentence not in _reported:
        _reported.add(sentence)
        print(sentence, file=sys.stderr)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
