"""Every solution of the course, checked on a GPU of which this process may use a few GiB only.

    $ flashlearn bench --memory 8                  # as on a card of 8 GiB

A table has each check's status, its peak memory on the GPU and its time.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from rich.table import Table

from flashlearn.exercise import Exercise
from flashlearn.machine.device import GIB
from flashlearn.report import Report

Say = Callable[[str], None]
Check = Callable[[Exercise], Report]


@dataclass(frozen=True)
class Row:
    """One check: its status or the exception that came out of it, peak bytes on the GPU, and seconds.

    `held` are the bytes that are still allocated after it, `notes` the cautions of its report.
    """

    exercise: str
    status: str
    passed: bool
    peak: int
    held: int
    seconds: float
    notes: tuple[str, ...]


def limit(gib: float) -> None:
    """From now on this process takes at most `gib` GiB of the GPU's memory; more raises out-of-memory errors.

    Raises ValueError if the GPU has less.
    """
    total = torch.cuda.get_device_properties(0).total_memory
    if not 0 < gib * GIB <= total:
        raise ValueError(f"This GPU has {total / GIB:.1f} GiB: {gib:g} is no limit for it.")
    torch.cuda.set_per_process_memory_fraction(gib * GIB / total)


def run(exercises: Iterable[Exercise], check: Check, say: Say = print) -> list[Row]:
    """Check the solution of each exercise, with a line for each."""
    rows = []
    for exercise in exercises:
        rows.append(row := measured(exercise, check))
        say(f"{row.exercise}: {row.status}, {row.peak / GIB:.2f} GiB, {row.seconds:.1f} s")
        for note in row.notes:
            say(f"  {note}")
    return rows


def measured(exercise: Exercise, check: Check) -> Row:
    """One check. What it raises is its status: a check should never raise anything."""
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    try:
        with _peaks() as peaks:
            report = check(exercise)
    except Exception as error:
        status, passed, seconds, notes = f"raised {type(error).__name__}", False, 0.0, (str(error)[:200],)
    else:
        status, passed, seconds = report.status.value, report.passed, report.seconds
        notes = tuple(note.sentence for note in report.card.cautions if "memory" in note.sentence)
        notes += tuple(filter(None, [report.timing.smaller if report.timing is not None else ""]))
        notes += () if passed else (report.sentence,)
        del report
    peak = max(*peaks, torch.cuda.max_memory_allocated()) - before
    gc.collect()
    held = torch.cuda.memory_allocated() - before
    return Row(exercise.name, status, passed, peak, held, seconds, notes)


@contextlib.contextmanager
def _peaks() -> Iterator[list[int]]:
    """The peaks that were reached before a reset of torch's own figure, which timing makes for each call."""
    found, reset = [0], torch.cuda.reset_peak_memory_stats

    def noted() -> None:
        found.append(torch.cuda.max_memory_allocated())
        reset()

    torch.cuda.reset_peak_memory_stats = noted
    try:
        yield found
    finally:
        torch.cuda.reset_peak_memory_stats = reset


def table(rows: Iterable[Row], gib: float) -> Table:
    """The rows as a table."""
    shown = Table(
        "exercise", "status", "peak, GiB", "held after, MiB", "seconds", title=f"Within {gib:g} GiB"
    )
    for row in rows:
        figures = (f"{row.peak / GIB:.2f}", f"{row.held / 2**20:.0f}", f"{row.seconds:.1f}")
        shown.add_row(row.exercise, row.status, *figures)
    return shown
