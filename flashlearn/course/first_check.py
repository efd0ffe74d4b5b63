"""How long the check of each exercise takes if nothing has been compiled before, and how long the next one.

    $ flashlearn bench --checks                    # of all exercises; --only NAME of this one, repeatable

Triton's cache on disk is an empty folder for each exercise, and its cache in memory is cleared; the second
check of the same answer finds what the first has left. One check runs before, so that no figure includes
loading the GPU's libraries.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table
from triton.runtime.jit import JITFunction

from flashlearn.course.check import check
from flashlearn.course.right_answers import answer
from flashlearn.exercise import Exercise, Kind
from flashlearn.lessons import all_exercises, find
from flashlearn.report import Report

WARM_UP_EXERCISE = "scaled_add"


def main(only: list[str] | None = None) -> None:
    """Print the seconds of each exercise's own answer, and their median."""
    exercises = all_exercises()
    timed_checks(exercises[WARM_UP_EXERCISE])
    chosen = [find(name) for name in only] if only else [*exercises.values()]
    Console().print(table(chosen))


def table(exercises: list[Exercise]) -> Table:
    """A row for each exercise, and the medians below."""
    shown = Table(
        *("lesson", "exercise", "kind", "seconds", "again", "cases observed", "cases compiled", "verdict"),
        title="Checks with a cold cache",
    )
    taken: dict[Kind, list[tuple[float, float]]] = {}
    for exercise in exercises:
        seconds, report = timed_checks(exercise)
        taken.setdefault(exercise.kind, []).append(seconds)
        parts = [f"{_case_seconds(report, mode):.2f}" for mode in ("observed", "compiled")]
        row = exercise.lesson, exercise.name, exercise.kind.value, *_figures(seconds)
        shown.add_row(*row, *parts, report.status.value)
    by_kind = {kind.value: own for kind, own in taken.items()}
    for name, pairs in {**by_kind, "all": [*itertools.chain(*taken.values())]}.items():
        columns = [*zip(*pairs, strict=True)]
        shown.add_row("", f"median of {len(pairs)}", name, *_figures(map(statistics.median, columns)))
        shown.add_row("", "longest", name, *_figures(map(max, columns)))
    return shown


def _figures(seconds: Iterable[float]) -> list[str]:
    return [f"{one:.2f}" for one in seconds]


def _case_seconds(report: Report, mode: str) -> float:
    """Seconds that the cases took, observed or compiled; the rest is compilation, timing and analysis."""
    return sum(outcome.seconds for outcome in report.outcomes if outcome.mode == mode)


def timed_checks(exercise: Exercise) -> tuple[tuple[float, float], Report]:
    """Seconds from `check` to its report for the course's own answer, twice, and the first report."""
    function = answer(exercise)
    times, reports = [], []
    with _empty_caches():
        for _ in range(2):
            started = time.perf_counter()
            reports.append(check(exercise.name, function, demo=True))
            times.append(time.perf_counter() - started)
    return (times[0], times[1]), reports[0]


@contextlib.contextmanager
def _empty_caches() -> Iterator[None]:
    """An empty cache of triton's, on disk and in memory."""
    before = os.environ.get("TRITON_CACHE_DIR")
    for kernel in [one for one in gc.get_objects() if issubclass(type(one), JITFunction)]:
        getattr(kernel, "device_caches", {}).clear()
    with tempfile.TemporaryDirectory(prefix="flashlearn-", ignore_cleanup_errors=True) as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["TRITON_CACHE_DIR"]
            else:
                os.environ["TRITON_CACHE_DIR"] = before
