"""How long the check of each exercise takes if nothing has been compiled before.

    $ flashlearn bench --checks

Triton's cache on disk is an empty folder for each exercise, and its cache in memory is cleared. One check
runs first, so that no figure includes loading the GPU's libraries.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from triton.runtime.jit import JITFunction

from flashlearn.course.answers import solution
from flashlearn.course.check import check
from flashlearn.exercise import Exercise, Kind
from flashlearn.lessons import all_exercises
from flashlearn.report import Report

WARM_UP_EXERCISE = "scaled_add"


def main() -> None:
    """Print the seconds of each exercise's own solution, and their median."""
    exercises = all_exercises()
    timed_first_check(exercises[WARM_UP_EXERCISE])
    Console().print(table([*exercises.values()]))


def table(exercises: list[Exercise]) -> Table:
    """A row for each exercise, and the medians below."""
    shown = Table(
        *("lesson", "exercise", "kind", "seconds", "cases observed", "cases compiled", "verdict"),
        title="Checks with a cold cache",
    )
    taken: dict[Kind, list[float]] = {}
    for exercise in exercises:
        seconds, report = timed_first_check(exercise)
        taken.setdefault(exercise.kind, []).append(seconds)
        parts = [f"{_case_seconds(report, mode):.2f}" for mode in ("observed", "compiled")]
        row = exercise.lesson, exercise.name, exercise.kind.value, f"{seconds:.2f}"
        shown.add_row(*row, *parts, report.status.value)
    by_kind = {kind.value: own for kind, own in taken.items()}
    for name, seconds in {**by_kind, "all": [*itertools.chain(*taken.values())]}.items():
        shown.add_row("", f"median of {len(seconds)}", name, f"{statistics.median(seconds):.2f}")
        shown.add_row("", "longest", name, f"{max(seconds):.2f}")
    return shown


def _case_seconds(report: Report, mode: str) -> float:
    """Seconds that the cases took, observed or compiled; the rest is compilation, timing and analysis."""
    return sum(outcome.seconds for outcome in report.outcomes if outcome.mode == mode)


def timed_first_check(exercise: Exercise) -> tuple[float, Report]:
    """Seconds from `check` to its report for the package's own solution, and the report."""
    function = solution(exercise)
    with _empty_caches():
        started = time.perf_counter()
        report = check(exercise.name, function, demo=True)
        return time.perf_counter() - started, report


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
