"""The capstone's leaderboard: how fast your attention is beside SDPA, kept in SQLite beside your progress.

    >>> result = enter(capstone, "two loops")      # correct first, then timed on draws that no one has seen
    >>> Leaderboard().entries()                    # the best ones first

An entry is the geometric mean of six ratios: SDPA's time by yours, both passes, in turns in one run. SDPA
computes the same sequences padded to the longest, without what it does not have. Nothing leaves the machine.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import torch
import triton

from flashlearn.course import answers
from flashlearn.course.files import CourseError, home
from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.lessons.lesson_15_variants.capstone import padded_sdpa
from flashlearn.lessons.lesson_15_variants.capstone_draws import board_draws, capstone_inputs, hidden_draws
from flashlearn.machine import device
from flashlearn.machine.timers import time_in_turns
from flashlearn.outcome import Outcome, Status

__all__ = ["Entry", "Leaderboard", "Result", "Row", "enter"]

SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    time TEXT NOT NULL, device TEXT NOT NULL, name TEXT NOT NULL, ratio REAL NOT NULL, seed INTEGER NOT NULL,
    torch TEXT NOT NULL, triton TEXT NOT NULL, rows TEXT NOT NULL
);
PRAGMA user_version = 1;
"""
SMALL, LARGE = 1024, 8192
"""Tokens of a draw whose results are compared with fp64, and of one that is timed."""
HIDDEN = 3


@dataclass(frozen=True)
class Row:
    """One draw: what it is, and the milliseconds of both passes by you and by SDPA."""

    case: str
    yours: float
    sdpa: float

    @property
    def ratio(self) -> float:
        """How many times as fast as SDPA you are."""
        return self.sdpa / self.yours


@dataclass(frozen=True)
class Entry:
    """One row of the leaderboard; `ratio` is the geometric mean of those of its `rows`."""

    time: datetime
    device: str
    name: str
    ratio: float
    seed: int
    torch: str
    triton: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Result:
    """What became of an attempt to enter: an entry, or the sentence that says why there is none."""

    sentence: str
    entry: Entry | None = None

    def __repr__(self) -> str:
        if self.entry is None:
            return self.sentence
        width = max(len(row.case) for row in self.entry.rows)
        lines = [
            f"{row.case:{width}}  {row.yours:8.3f} ms  {row.sdpa:8.3f} ms  {row.ratio:5.2f}"
            for row in self.entry.rows
        ]
        return "\n".join([f"{'':{width}}     yours        SDPA      ratio", *lines, self.sentence])


class Leaderboard:
    """The entries in the file at `path` (default: `home()/leaderboard.sqlite`), opened for each query."""

    def __init__(self, path: Path | None = None):
        self.path = Path(path) if path else home() / "leaderboard.sqlite"

    def add(self, entry: Entry) -> None:
        """Record an entry. CourseError where the file cannot be written."""
        rows = json.dumps([dataclasses.astuple(row) for row in entry.rows])
        values = (entry.time.isoformat(timespec="seconds"), entry.device, entry.name, entry.ratio, entry.seed)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=10.0)) as connection, connection:
                connection.executescript(SCHEMA)
                connection.execute(
                    "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (*values, entry.torch, entry.triton, rows),
                )
        except (sqlite3.Error, OSError) as error:
            raise CourseError(f"The leaderboard could not be written at {self.path}: {error}.") from None

    def entries(self, device: str | None = None) -> list[Entry]:
        """The entries of a device, or of all, the best ones first. CourseError where the file is damaged."""
        if not self.path.exists():
            return []
        try:
            with closing(sqlite3.connect(self.path, timeout=10.0)) as connection:
                found = connection.execute("SELECT * FROM entries ORDER BY ratio DESC, time").fetchall()
        except sqlite3.Error as error:
            raise CourseError(f"The leaderboard could not be read at {self.path}: {error}.") from None
        entries = [_entry(*values) for values in found]
        return [entry for entry in entries if device in (None, entry.device)]


def by_device(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries of each device, in the order in which they are given."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.device, []).append(entry)
    return groups


def enter(function: Callable[..., Any], name: str = "mine", board: Leaderboard | None = None) -> Result:
    """Check `function`, an answer to `capstone`, on new draws; on a GPU time it as well, and add an entry.

    A function that has not passed its check in this session is checked in all declared cases first.
    """
    seed = secrets.randbelow(10**6)
    cases = list(hidden_draws(seed, HIDDEN))
    if answers.passed.get("capstone") is not function:
        cases += [case for case in find("capstone").cases if not case.gpu]
    if device.has_gpu():
        cases += board_draws(seed, SMALL)
    outcomes = run(dataclasses.replace(find("capstone"), cases=tuple(cases)), function)
    wrong = next((outcome for outcome in outcomes if outcome.status is not Status.PASS), None)
    if wrong is not None:
        return Result(_refusal(wrong))
    if not device.has_gpu():
        return Result(
            f"Right in all cases ({len(outcomes)}). There is no GPU here to time it on, so no entry is "
            "added: run this cell where there is one."
        )
    rows = tuple(_timed(function, case) for case in board_draws(seed, LARGE))
    ratio = geometric_mean(row.ratio for row in rows)
    versions = (torch.__version__, triton.__version__)
    entry = Entry(datetime.now(UTC), torch.cuda.get_device_name(), name, ratio, seed, *versions, rows)
    (board or Leaderboard()).add(entry)
    return Result(f"Entered as “{name}”: {entry.ratio:.2f} times SDPA's speed on {entry.device}.", entry)


def _refusal(wrong: Outcome) -> str:
    return f"Not entered: {wrong.case.name}: {wrong.status.value}. {wrong.message}".strip()


def _timed(function: Callable[..., Any], case: Any) -> Row:
    given = capstone_inputs(case, case.generator())
    given = {name: x.to("cuda") if isinstance(x, torch.Tensor) else x for name, x in given.items()}
    yours, sdpa = time_in_turns([lambda: function(**given), padded_sdpa(**given)])
    return Row(case.name, yours.median, sdpa.median)


def _entry(time: str, *values: Any) -> Entry:
    *known, rows = values
    return Entry(datetime.fromisoformat(time), *known, tuple(Row(*row) for row in json.loads(rows)))
