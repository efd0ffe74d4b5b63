"""How long calls take, side by side: medians, the spread of single calls, and peak memory.

    >>> mine, peer = contest([lambda: softmax_forward(s), lambda: torch.softmax(s, -1)])
    >>> mine.median, mine.spread                       # milliseconds, and a fraction
    (0.0412, 0.013)

The contestants take turns call by call, since a GPU's clock changes under load: what slows one of them slows
the others too, and their ratio stays. On a GPU the L2 cache is cleared before each call, as in triton's own
benchmark, and the events around the calls are read after the last one, so that the CPU stays ahead of the GPU
and is not timed.
"""

from __future__ import annotations

import abc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from flashlearn.machine import device

Call = Callable[[], object]

UNSTEADY_SPREAD = 0.05
"""A larger spread is reported with the time."""
TIME_BUDGET = 0.2
"""Seconds for all timed calls of one contestant."""
MIN_ROUNDS, MAX_ROUNDS = 5, 100
"""Bounds on a contestant's rounds, whatever its time budget allows."""
SLOW_CALL, VERY_SLOW_CALL = 100.0, 1000.0
"""A call slower than this, in milliseconds, is timed in three rounds, or in one."""
WARM_UP_MS = 10.0
"""Each contestant runs for this many milliseconds before it is timed, for `MAX_WARM_UP_CALLS` at most."""
MAX_WARM_UP_CALLS = 25
FLUSH_BYTES = 256 * device.MIB
"""Larger than any GPU's L2 cache."""


@dataclass(frozen=True)
class Measurement:
    """One contestant: the median of `rounds` calls in milliseconds, and their spread.

    `spread` is (p90 − p10) / median; None for fewer than three calls. `peak` is the call's peak memory in
    bytes beyond what was allocated before it, if that was measured.
    """

    median: float
    spread: float | None
    rounds: int
    peak: int | None = None

    @property
    def unsteady(self) -> bool:
        """Whether single calls vary so much that the median must be treated with care."""
        return self.spread is not None and self.spread > UNSTEADY_SPREAD


def summarize(times: Sequence[float], peak: int | None = None) -> Measurement:
    """Median and spread of one contestant's times, in milliseconds."""
    median = statistics.median(times)
    spread = None
    if len(times) >= 3:
        tenths = statistics.quantiles(times, n=10, method="inclusive")
        spread = (tenths[-1] - tenths[0]) / median if median else math.inf
    return Measurement(median, spread, len(times), peak)


class Timer(abc.ABC):
    """Makes calls in their order and measures each."""

    @abc.abstractmethod
    def times(self, calls: Sequence[Call]) -> list[float]:
        """Milliseconds of each call."""


class CudaTimer(Timer):
    """The GPU's time for each call, with its L2 cache cleared before."""

    def times(self, calls: Sequence[Call]) -> list[float]:
        flushed = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in calls]
        torch.cuda.synchronize()
        for call, (start, end) in zip(calls, events, strict=True):
            flushed.zero_()
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]


class WallClockTimer(Timer):
    """The time from the call until its work is done, Python included."""

    def times(self, calls: Sequence[Call]) -> list[float]:
        taken = []
        for call in calls:
            _synchronize()
            started = time.perf_counter()
            call()
            _synchronize()
            taken.append(1e3 * (time.perf_counter() - started))
        return taken


def default_timer() -> Timer:
    """The timer for this machine: CUDA events, or the clock if there is no GPU."""
    return CudaTimer() if device.has_gpu() else WallClockTimer()


def time_in_turns(
    calls: Sequence[Call], timer: Timer | None = None, seconds: float = TIME_BUDGET
) -> list[Measurement]:
    """A measurement of each call. Everything is called twice before: to compile, and to estimate its time."""
    timer = timer or default_timer()
    calls = list(calls)
    timer.times(calls)
    guesses = timer.times(calls)
    timer.times(_turns(calls, [min(MAX_WARM_UP_CALLS, int(WARM_UP_MS / max(one, 1e-3))) for one in guesses]))
    counts = [_rounds(one, seconds) for one in guesses]
    numbers = _turns(range(len(calls)), counts)
    taken = timer.times([calls[number] for number in numbers])
    own: list[list[float]] = [[] for _ in calls]
    for number, milliseconds in zip(numbers, taken, strict=True):
        own[number].append(milliseconds)
    return [summarize(times) for times in own]


def peak_memory(call: Call) -> int | None:
    """A call's peak memory in bytes beyond what was allocated before it; None without a GPU."""
    if not device.has_gpu():
        return None
    call()  # compiles, and lets libraries take their workspaces
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


def _rounds(milliseconds: float, seconds: float) -> int:
    if milliseconds > SLOW_CALL:
        return 1 if milliseconds > VERY_SLOW_CALL else 3
    return max(MIN_ROUNDS, min(MAX_ROUNDS, int(1e3 * seconds / max(milliseconds, 1e-3))))


def _turns(contestants: Sequence, counts: Sequence[int]) -> list:
    """Each contestant as often as its count says, evenly spread among the others."""
    most = max(counts, default=0)
    return [
        one
        for turn in range(most)
        for one, count in zip(contestants, counts, strict=True)
        if (turn + 1) * count // most > turn * count // most
    ]


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
