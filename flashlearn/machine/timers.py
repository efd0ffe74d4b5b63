"""How long calls take, side by side: medians, how far single calls stray, and the memory that they hold.

    >>> mine, peer = contest([lambda: softmax_forward(s), lambda: torch.softmax(s, -1)])
    >>> mine.median, mine.spread                       # milliseconds, and a fraction
    (0.0412, 0.013)

The contestants take turns call by call, since a GPU's clock changes as it works: whatever slows one of them
slows the others too, and their ratio stays. On a GPU the L2 cache is cleared before each call, as triton's
own benchmark does it, and events around the call are read when all calls are over, so that the processor
stays ahead of the GPU and is not timed.
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

UNSTEADY = 0.05
"""A spread above this is said wherever the time is."""
SECONDS = 0.2
"""What the timed calls of one contestant may take together."""
LEAST, MOST = 5, 100
"""Rounds of a contestant, whatever fits into its seconds."""
SLOW, VERY_SLOW = 100.0, 1000.0
"""A call slower than this, in milliseconds, is timed in three rounds, or in one."""
WARM_UP = 10.0
"""Milliseconds that each contestant runs before it is timed, and `MOST_WARM` calls at most."""
MOST_WARM = 25
FLUSHED = 256 * device.MIB
"""More than any GPU's L2 cache holds."""


@dataclass(frozen=True)
class Measured:
    """One contestant: the median of `rounds` calls in milliseconds, and their spread.

    `spread` is (p90 − p10) / median; None of fewer than three calls. `peak` are the bytes that a call holds
    at its peak beyond what was allocated before it, where that was measured.
    """

    median: float
    spread: float | None
    rounds: int
    peak: int | None = None

    @property
    def unsteady(self) -> bool:
        """Whether single calls stray so far that the median has to be taken with care."""
        return self.spread is not None and self.spread > UNSTEADY


def measured(times: Sequence[float], peak: int | None = None) -> Measured:
    """The figures of one contestant's times, in milliseconds."""
    median = statistics.median(times)
    spread = None
    if len(times) >= 3:
        tenths = statistics.quantiles(times, n=10, method="inclusive")
        spread = (tenths[-1] - tenths[0]) / median if median else math.inf
    return Measured(median, spread, len(times), peak)


class Stopwatch(abc.ABC):
    """Makes calls in their order and says how long each took."""

    @abc.abstractmethod
    def times(self, calls: Sequence[Call]) -> list[float]:
        """Milliseconds of each call."""


class OnTheGPU(Stopwatch):
    """What the GPU works at each call, with its L2 cache cleared before."""

    def times(self, calls: Sequence[Call]) -> list[float]:
        flushed = torch.empty(FLUSHED, dtype=torch.int8, device="cuda")
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in calls]
        torch.cuda.synchronize()
        for call, (start, end) in zip(calls, events, strict=True):
            flushed.zero_()
            start.record()
            call()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in events]


class ByTheClock(Stopwatch):
    """What passes from the call until its work is done, Python included."""

    def times(self, calls: Sequence[Call]) -> list[float]:
        taken = []
        for call in calls:
            _wait()
            started = time.perf_counter()
            call()
            _wait()
            taken.append(1e3 * (time.perf_counter() - started))
        return taken


def here() -> Stopwatch:
    """The stopwatch of this machine: the GPU's own, or the clock where there is none."""
    return OnTheGPU() if device.has_gpu() else ByTheClock()


def contest(
    calls: Sequence[Call], stopwatch: Stopwatch | None = None, seconds: float = SECONDS
) -> list[Measured]:
    """Each call's figures. Everything is called twice before: to compile, and to see how long it takes."""
    stopwatch = stopwatch or here()
    calls = list(calls)
    stopwatch.times(calls)
    guesses = stopwatch.times(calls)
    stopwatch.times(_turns(calls, [min(MOST_WARM, int(WARM_UP / max(one, 1e-3))) for one in guesses]))
    counts = [_rounds(one, seconds) for one in guesses]
    numbers = _turns(range(len(calls)), counts)
    taken = stopwatch.times([calls[number] for number in numbers])
    own: list[list[float]] = [[] for _ in calls]
    for number, milliseconds in zip(numbers, taken, strict=True):
        own[number].append(milliseconds)
    return [measured(times) for times in own]


def peak_memory(call: Call) -> int | None:
    """Bytes that a call holds at its peak beyond what was allocated before it; None without a GPU."""
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
    if milliseconds > SLOW:
        return 1 if milliseconds > VERY_SLOW else 3
    return max(LEAST, min(MOST, int(1e3 * seconds / max(milliseconds, 1e-3))))


def _turns(contestants: Sequence, counts: Sequence[int]) -> list:
    """Each contestant as often as its count says, evenly among the others."""
    most = max(counts, default=0)
    return [
        one
        for turn in range(most)
        for one, count in zip(contestants, counts, strict=True)
        if (turn + 1) * count // most > turn * count // most
    ]


def _wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
