"""What failed while an answer was explained: the last entries, in a small file beside the progress.

    >>> failures.keep_from_now_on()      # once; from then on each failure becomes an entry
    >>> failures.kept()[-1].stage
    'first divergence'

Such a failure is the course's, not the learner's, and changes no verdict. `flashlearn doctor` tells of it.
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
from flashlearn.explaining.failures import LOG

MOST = 40
"""Entries that are kept."""

LINES, LONGEST = 12, 300
"""Lines of a traceback that are kept of its end, and characters of each."""


@dataclass(frozen=True)
class Failure:
    """One stage that failed. `number` counts all that there ever were, from 1."""

    number: int
    time: str
    exercise: str
    stage: str
    error: str
    traceback: tuple[str, ...]


def path() -> Path:
    """Where the entries lie, one line of JSON each."""
    return home() / "failures.jsonl"


def kept() -> list[Failure]:
    """The entries, oldest first; none if there is no file, and without lines that cannot be read."""
    try:
        lines = path().read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [failure for line in lines if (failure := _read(line)) is not None]


def keep_from_now_on() -> None:
    """Keep what LOG is told."""
    if not any(isinstance(handler, _Keeper) for handler in LOG.handlers):
        LOG.addHandler(_Keeper())


class _Keeper(logging.Handler):
    """Adds each record to the file. Where that cannot be written, nothing is kept, and nobody is told."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            _keep(record)
        except (
            Exception
        ):  # a folder that is read-only, an exception that cannot be printed: no check ends here
            return


def _keep(record: logging.LogRecord) -> None:
    earlier = kept()
    _, error, trace = record.exc_info or (None, None, None)
    text = "".join(traceback.format_exception(type(error), error, trace)) if error is not None else ""
    entry = Failure(
        number=earlier[-1].number + 1 if earlier else 1,
        time=datetime.now().astimezone().isoformat(timespec="seconds"),
        exercise=str(getattr(record, "exercise", "")),
        stage=str(getattr(record, "stage", "")),
        error=f"{type(error).__name__}: {error}"[:LONGEST],
        traceback=tuple(line[:LONGEST] for line in text.splitlines()[-LINES:]),
    )
    target = path()
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(f"{target.name}.{os.getpid()}")
    lines = (json.dumps(asdict(failure), ensure_ascii=False) for failure in [*earlier, entry][-MOST:])
    fresh.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    fresh.replace(target)  # at once: whoever reads meanwhile reads the old file or the new one


def _read(line: str) -> Failure | None:
    try:
        found = json.loads(line)
        return Failure(**{**found, "number": int(found["number"]), "traceback": tuple(found["traceback"])})
    except (ValueError, TypeError, KeyError):
        return None
