"""The second look at a program's times: partitions that compute at the same time share the SM's units.

While a program runs, each partition's clock goes on as if it were alone. Afterwards, with all events known,
the same events are timed once more: partitions that compute, take exponentials or multiply at the same time
divide the lanes, the units for exponentials or the tensor cores evenly. A partition's own products come one
after the other. Order and dependencies stay as they were; only times change.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from flashlearn.observation import TimelineEvent

WAITS = ("wait", "wgmma wait", "store wait", "copy wait")
COPIES = ("tma load", "tma store", "cp.async")
LANES, EXPONENTIALS, TENSOR_CORES = "lanes", "exponentials", "tensor cores"


def shared(events: Iterable[TimelineEvent], latency: float) -> list[TimelineEvent]:
    """The events of any programs, in their order, with the times at which shared units allow them.

    A copy takes `latency` cycles beyond the time that it keeps its engine busy.
    """
    events = list(events)
    programs: dict[tuple, list[TimelineEvent]] = defaultdict(list)
    for event in events:
        programs[event.launch, event.program].append(event)
    timed: dict[int, TimelineEvent] = {}
    for program in programs.values():
        if len({event.index for event in program if event.what in ("compute", "wgmma")}) > 1:
            timed.update(_Replay(program, latency).run())
    return [timed.get(event.number, event) for event in events]


class _Unit:
    """A unit that all who use it at a time share evenly: work left by partition, and when that was known."""

    def __init__(self) -> None:
        self.left: dict[int, float] = {}
        self.since = 0.0

    def advance(self, now: float) -> None:
        """All users have had their share of the time since."""
        if self.left:
            share = (now - self.since) / len(self.left)
            self.left = {who: work - share for who, work in self.left.items()}
        self.since = now

    def next_end(self) -> tuple[float, int]:
        """When the first of the users is done, and which, if nobody comes or goes before."""
        if not self.left:
            return math.inf, -1
        who = min(self.left, key=lambda user: (self.left[user], user))
        return self.since + max(self.left[who], 0.0) * len(self.left), who


class _Replay:
    """One program's events again. A partition's own come in order; each starts when it may."""

    def __init__(self, events: list[TimelineEvent], latency: float):
        self.events, self.latency = events, latency
        self.queues: dict[int, deque[TimelineEvent]] = defaultdict(deque)
        for event in events:
            self.queues[event.index].append(event)
        self.ends: dict[int, float] = {}  # by number, once an event is over
        self.known = {event.number for event in events}
        self.timed: dict[int, TimelineEvent] = {}
        self.units = {name: _Unit() for name in (LANES, EXPONENTIALS, TENSOR_CORES)}
        self.products: dict[int, deque[TimelineEvent]] = defaultdict(deque)  # under way, by partition
        self.copies_free = 0.0  # when the copy engine has nothing left to do
        self.clock: list[tuple[float, int, Callable[[float], None]]] = []  # what happens at a known time
        self.order = itertools.count()
        self.begun: dict[int, float] = {}  # by partition: when its event began
        self.blocked: set[int] = set()
        self.forks = [event.number for event in events if event.what == "fork"]
        self.first = {event.index: event.number for event in reversed(events)}

    def run(self) -> dict[int, TimelineEvent]:
        """The events by number, with new times; an event that nothing leads to keeps its own."""
        for index in self.queues:
            self._start(index, self.events[0].begin)
        while True:
            unit = min(self.units.values(), key=lambda one: one.next_end())
            at, who = unit.next_end()
            if self.clock and self.clock[0][0] <= at:
                at, _, happens = heapq.heappop(self.clock)
                happens(at)
            elif who >= 0:
                self._done(unit, who, at)
            else:
                return self.timed

    def _later(self, at: float, happens: Callable[[float], None]) -> None:
        heapq.heappush(self.clock, (at, next(self.order), happens))

    def _start(self, index: int, now: float) -> None:
        """Begin the next event of a partition, or note that it has to wait."""
        self.blocked.discard(index)
        if not self.queues[index]:
            return
        event = self.queues[index][0]
        if not self._may(event):
            self.blocked.add(index)
            if self._forked(event):
                self.begun.setdefault(index, now)
            return
        began = self.begun.pop(index, now)
        self.begun[index] = began if event.what in WAITS else now
        if event.what == "compute":
            self._use(LANES if event.end - event.begin > event.special else EXPONENTIALS, event, now)
        elif event.what in COPIES:
            self._copy(event, now)
        elif event.what == "wgmma":
            self._multiply(event, now)
        else:
            length = 0.0 if event.what in WAITS else event.end - event.begin
            self._later(now + length, partial(self._over, event))

    def _may(self, event: TimelineEvent) -> bool:
        if event.what == "join":
            return all(not queue or queue[0].number > event.number
                       for index, queue in self.queues.items() if index != event.index)  # fmt: skip
        return self._forked(event) and all(
            number in self.ends for number in event.after if number in self.known
        )

    def _forked(self, event: TimelineEvent) -> bool:
        """Whether the partition of an event is there already."""
        before = [number for number in self.forks if number < event.number]
        if not before or not event.index or event.number != self.first[event.index]:
            return True
        return before[-1] in self.ends

    def _use(self, name: str, event: TimelineEvent, now: float) -> None:
        unit = self.units[name]
        unit.advance(now)
        length = event.end - event.begin - event.special if name == LANES else event.special
        unit.left[event.index] = length

    def _done(self, unit: _Unit, who: int, now: float) -> None:
        """A partition has had what it wanted of a unit: its exponentials come after its other arithmetic."""
        unit.advance(now)
        del unit.left[who]
        if unit is self.units[TENSOR_CORES]:
            self._over(self.products[who].popleft(), now)
            self._next_product(who, now)
            return
        event = self.queues[who][0]
        if unit is self.units[LANES] and event.special:
            self._use(EXPONENTIALS, event, now)
        else:
            self._over(event, now)

    def _copy(self, event: TimelineEvent, now: float) -> None:
        """The copy engine makes copies one after the other."""
        delay = self.latency if event.what != "tma store" and event.bytes else 0.0
        begin = max(now, self.copies_free)
        self.copies_free = begin + (event.end - event.begin) - delay
        timed = replace(event, begin=begin, end=self.copies_free + delay, issued=now)
        self.timed[event.number] = timed
        self._later(timed.end, partial(self._over, timed))
        self._go_on(event, now)

    def _multiply(self, event: TimelineEvent, now: float) -> None:
        """A partition's products come in their order; those of two partitions share the tensor cores."""
        self.products[event.index].append(replace(event, issued=now))
        if len(self.products[event.index]) == 1:
            self._next_product(event.index, now)
        self._go_on(event, now)

    def _next_product(self, who: int, now: float) -> None:
        if not self.products[who]:
            return
        event = self.products[who][0]
        unit = self.units[TENSOR_CORES]
        unit.advance(now)
        unit.left[who] = event.end - event.begin
        self.timed[event.number] = replace(event, begin=now)

    def _go_on(self, event: TimelineEvent, now: float) -> None:
        """The partition that issued an asynchronous operation has its next event."""
        self.queues[event.index].popleft()
        self.begun.pop(event.index, None)
        self._later(now + (event.what != "cp.async"), partial(self._start, event.index))

    def _over(self, event: TimelineEvent, now: float) -> None:
        """An event is over: its partition goes on, and so does whoever waited for it."""
        self.ends[event.number] = now
        if event.what == "wgmma":
            self.timed[event.number] = replace(self.timed[event.number], end=now)
        elif event.what not in COPIES:
            self.queues[event.index].popleft()
            began = self.begun.pop(event.index)
            self.timed[event.number] = replace(event, begin=began, end=now, issued=began)
            self._start(event.index, now)
        for index in sorted(self.blocked):
            self._start(index, now)
