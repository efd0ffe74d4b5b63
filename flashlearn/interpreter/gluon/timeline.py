"""What happened when, as plain data, by a simple model of a Hopper SM's time.

Times are cycles. The model knows five things and is no more than a picture of them:

- arithmetic: 128 lanes a cycle for elementwise work and reductions, 16 for exp2, log2 and their like;
  partitions that compute at the same time share them (`shared_units.py`);
- shared memory: 64 bytes a cycle for each partition by itself;
- the tensor cores: 4096 operations a cycle (a multiplication and an addition are two); a partition's
  products one after the other, those of several partitions at the same time and each more slowly;
- the copy engine: a latency of 600 cycles, and 64 bytes a cycle for all copies together (from the L2 cache);
- everything else, an arrival or a fence, takes one cycle.

(NVIDIA H100 Tensor Core GPU Architecture, whitepaper, 2022: throughput per SM; the latency is a round
figure.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flashlearn.interpreter.gluon.shared_units import shared
from flashlearn.observation import TimelineEvent

LANES, SPECIAL_LANES, SHARED_BYTES = 128, 16, 64
TENSOR_OPERATIONS = 4096
COPY_LATENCY, COPY_BYTES = 600, 64
MOST = 4_000
"""Events that are kept of a session, unless more are asked for."""


WHATS = (
    "compute", "shared load", "shared store", "tma load", "tma store", "cp.async", "wgmma",
    "expect", "arrive", "wait", "wgmma wait", "store wait", "copy wait", "fence", "init", "fork", "join",
)  # fmt: skip


@dataclass
class Timeline:
    """The events of a session's Gluon launches, in the order in which they were noted.

    With `chosen` only those programs are kept that it says yes to, by launch and program, and the one that
    ran last, which a fault may have ended. `most` events are kept; `dropped` counts the others.
    """

    events: list[TimelineEvent] = field(default_factory=list)
    dropped: int = 0
    most: int = MOST
    chosen: Callable[[int, tuple[int, int, int]], bool] | None = None
    _started: int = 0  # where the events of the program that runs begin
    _dropped: int = 0
    _noted: int = 0

    def begin(self, launch: int, program: tuple[int, int, int]) -> None:
        """Another program begins to run: the one before is dropped, unless it was asked for."""
        if self.chosen is not None and self._started < len(self.events):
            before = self.events[-1]
            if not self.chosen(before.launch, before.program):
                del self.events[self._started :]
                self.dropped = self._dropped
        self._started, self._dropped = len(self.events), self.dropped

    def timed(self) -> tuple[TimelineEvent, ...]:
        """The events with the times at which partitions that share the SM's units reach them."""
        return tuple(shared(self.events, COPY_LATENCY))

    def note(self, **facts) -> int:
        """Keep an event; its number, or −1 if there are too many."""
        if len(self.events) >= self.most:
            self.dropped += 1
            return -1
        self._noted += 1
        self.events.append(TimelineEvent(self._noted - 1, **facts))
        return self._noted - 1


def arithmetic(before: Mapping[str, int], now: Mapping[str, int]) -> tuple[float, float]:
    """Cycles that a partition's operations took, from two readings of the counters: plain, and special."""
    plain = sum(now.get(k, 0) - before.get(k, 0) for k in ("elementwise", "reduce"))
    return plain / LANES, (now.get("special", 0) - before.get("special", 0)) / SPECIAL_LANES
