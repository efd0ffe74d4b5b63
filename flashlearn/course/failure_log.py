"""A log of the grader's failures while it explained an answer, in a file beside the progress.

    >>> failure_log.install()            # once; from then on each failure becomes an entry
    >>> failure_log.entries()[-1].stage
    'first divergence'

Such a failure is the course's, not the learner's, and changes no verdict. `flashlearn doctor` reports it.
"""

from __future__ import annotations

import json
import logging
import os
import traceback
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from flashlearn.course.files import home
from flashlearn.explaining.stage import LOG

MAX_ENTRIES = 40
"""Entries in the file at most."""

MAX_LINES, MAX_LINE_LENGTH = 12, 300
"""The last lines of a traceback that are stored, and characters of each."""


@dataclass(frozen=True)
class Failure:
    """One stage that failed. `number` counts all failures so far, from 1."""

    number: int
    time: str
    exercise: str
    stage: str
    error: str
    traceback: tuple[str, ...]


def path() -> Path:
    """The log file, one line of JSON per entry."""
    return home() / "failures.jsonl"


def entries() -> list[Failure]:
    """The entries, oldest first; empty if there is no file; unreadable lines are skipped."""
    try:
        lines = path().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [failure for line in lines if (failure := _read(line)) is not None]


def install() -> None:
    """Write the records of LOG to the file from here on."""
    if not any(isinstance(handler, _LogHandler) for handler in LOG.handlers):
        LOG.addHandler(_LogHandler())


class _LogHandler(logging.Handler):
    """Adds each record to the file; silently does nothing if the file cannot be written."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            _append(record)
        except Exception:  # a read-only folder, an exception that cannot be printed: neither may stop a check
            return


def _append(record: logging.LogRecord) -> None:
    earlier = entries()
    _, error, trace = record.exc_info or (None, None, None)
    text = "".join(traceback.format_exception(type(error), error, trace)) if error is not None else ""
    entry = Failure(
        number=earlier[-1].number + 1 if earlier else 1,
        time=datetime.now().astimezone().isoformat(timespec="seconds"),
        exercise=str(getattr(record, "exercise", "")),
        stage=str(getattr(record, "stage", "")),
        error=f"{type(error).__name__}: {error}"[:MAX_LINE_LENGTH],
        traceback=tuple(line[:MAX_LINE_LENGTH] for line in text.splitlines()[-MAX_LINES:]),
    )
    target = path()
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    lines = (json.dumps(asdict(failure), ensure_ascii=False) for failure in [*earlier, entry][-MAX_ENTRIES:])
    fresh.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    fresh.replace(target)  # atomic: another process reads the old file or the new one


def _read(line: str) -> Failure | None:
    try:
        found = json.loads(line)
        return Failure(**{**found, "number": int(found["number"]), "traceback": tuple(found["traceback"])})
    except (ValueError, TypeError, KeyError):
        return None
