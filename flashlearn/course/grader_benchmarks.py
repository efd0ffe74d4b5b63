"""Benchmarks of the grader itself: the time of a verdict, the cost of observing, the margins of tolerances.

    $ make bench

Everything printed is measured on this machine; nothing is asserted.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import torch
from rich.console import Console
from rich.table import Table

from flashlearn.course.answers import mistake_function, solution
from flashlearn.course.check import check
from flashlearn.exercise import Exercise, Kind
from flashlearn.interpreter.route import observing
from flashlearn.kernels.flash_forward import flash_forward
from flashlearn.lessons import all_exercises
from flashlearn.machine import device
from flashlearn.outcome import Status
from flashlearn.report import Report

REPEATS = 5
RUNS = 15


def main() -> None:
    """Print every table."""
    console, progress = Console(), Console(stderr=True)
    place = torch.cuda.get_device_name() if device.has_gpu() else f"the CPU, {os.cpu_count()} cores"
    console.print(f"Measured on {place}; torch {torch.__version__}. Times are medians.\n")
    exercises = list(all_exercises().values())
    console.print(latency(exercises, progress.print))
    console.print(margins([e for e in exercises if e.kind is not Kind.SYMBOLIC], progress.print))
    progress.print("the interpreters, observed and triton's own")
    console.print(overhead())


def announced(exercises: list[Exercise], table: str, say: Callable[[str], object]) -> Iterator[Exercise]:
    """The exercises, each said before its turn: a table takes minutes."""
    for number, exercise in enumerate(exercises, 1):
        say(f"{table}: {number} of {len(exercises)}, {exercise.name}")
        yield exercise


def latency(exercises: list[Exercise], say: Callable[[str], object]) -> Table:
    """Seconds from `check` to its report, for the right answer and for the slowest named mistake."""
    table = Table("exercise", "passing, s", "slowest named mistake, s", title="Verdict latency")
    for exercise in announced(exercises, "verdict latency", say):
        passing = statistics.median(_seconds(exercise, solution(exercise)) for _ in range(REPEATS))
        slowest = max(
            (_seconds(exercise, mistake_function(exercise, name)) for name in exercise.explained.mistakes),
            default=0.0,
        )
        table.add_row(exercise.name, f"{passing:.2f}", f"{slowest:.2f}")
    return table


def margins(exercises: list[Exercise], say: Callable[[str], object]) -> Table:
    """Error over allowed error: the worst case of the right answer, the best case of a mistake that fails."""
    table = Table("exercise", "right, at most", "mistake, at least", "which", title="Error / allowed")
    for exercise in announced(exercises, "error / allowed", say):
        right = max(_ratios(check(exercise.name, solution(exercise), demo=True)), default=0.0)
        least = min(
            (
                (
                    max(
                        _ratios(check(exercise.name, mistake_function(exercise, name), demo=True)),
                        default=0.0,
                    ),
                    name,
                )
                for name, mistake in exercise.explained.mistakes.items()
                if mistake.status is Status.WRONG
            ),
            default=(float("nan"), "none"),
        )
        table.add_row(exercise.name, f"{right:.2f}", f"{least[0]:.3g}", least[1])
    return table


def overhead() -> Table:
    """The observed interpreter against triton's own, on FlashAttention's forward at S 128, D 64."""
    table = Table(
        "interpreter", "median, ms", title="flash_forward, 2 heads, S 128, D 64, blocks of 32, fp32"
    )
    stock = _stock_milliseconds()
    observed = _median_milliseconds(_observed_forward)
    table.add_row("triton's own", f"{stock:.1f}")
    table.add_row("observed", f"{observed:.1f}")
    table.add_row("observed / triton's own", f"{observed / stock:.2f}")
    return table


def _seconds(exercise: Exercise, function: Callable) -> float:
    started = time.perf_counter()
    check(exercise.name, function, demo=True)
    return time.perf_counter() - started


def _ratios(report: Report) -> list[float]:
    """Error over allowed error, maximum or rms, whichever is nearer its limit."""
    return [
        max(_over(output.error, output.allowed), output.rms_ratio)
        for outcome in report.outcomes
        for output in outcome.outputs
        if not output.problem
    ]


def _over(error: float, allowed: float) -> float:
    return error / allowed if allowed else float("inf") if error else 0.0


def _operands() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, 128, 64, generator=generator) for _ in range(3))
    return q, k, v


def _observed_forward() -> None:
    q, k, v = _operands()
    with observing(seed=0):
        flash_forward(q, k, v, 0.125)


def _median_milliseconds(work: Callable[[], None]) -> float:
    work()
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - started))
    return statistics.median(times)


STOCK = """
import sys
from flashlearn.course import grader_benchmarks
from flashlearn.interpreter.route import uninstall
uninstall()
q, k, v = grader_benchmarks._operands()
print(grader_benchmarks._median_milliseconds(lambda: grader_benchmarks.flash_forward(q, k, v, 0.125)))
"""


def _stock_milliseconds() -> float:
    """The same launch in a fresh process where triton's own interpreter runs it."""
    environment = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", STOCK], env=environment, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


if __name__ == "__main__":
    main()
