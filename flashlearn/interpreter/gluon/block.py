"""One program of a Gluon launch: its partitions, its shared memory, its barriers, and what is under way.

Every operation that touches shared memory or a barrier comes through here, is checked against what the
running partition knows, and is noted. What is asynchronous takes its values when it is issued, and gives them
when it is waited for; in between, whoever touches them meets a fault. So a value that is wrong on some GPU at some
time is never seen: the first access that could have seen it is told instead.
"""

from __future__ import annotations

import heapq
import random
import re
from collections.abc import Callable
from typing import Any

from flashlearn.interpreter.gluon import timeline
from flashlearn.interpreter.gluon.barriers import Barrier
from flashlearn.interpreter.gluon.partitions import Baton, Partition, Waiting
from flashlearn.interpreter.gluon.shared_memory import Allocation, SharedView, Touch, leave, meets
from flashlearn.interpreter.gluon.sync_faults import SyncError, SyncFault
from flashlearn.interpreter.gluon.timeline import Timeline
from flashlearn.outcome import Place

ASYNCHRONOUS = ("wgmma", "tma load", "tma store")
"""What reaches shared memory by the asynchronous proxy, and so past ordinary stores without a fence."""
ASSIGNED = re.compile(r"^\s*(?:self\.)?(\w+)\s*(?::[^=]*)?=[^=]")


class Block:
    """A program while it runs. `place` tells the learner's line, `counters` what has been computed so far."""

    def __init__(self, warps: int, order: random.Random | None, place: Callable[[], Place | None],
                 counters: dict[str, int], line: Timeline, launch: int, program: tuple[int, int, int]):  # fmt: skip
        first = Partition(0, "the kernel", warps)
        self.baton = Baton(first, order, self._land, self._deadlock)
        self.place, self.counters, self.timeline = place, counters, line
        self.launch, self.program = launch, program
        self.allocations = 0
        self.barriers: dict[tuple[int, int], Barrier] = {}
        self.made = 0
        self.uncommitted: dict[int, int] = {}  # bytes of cp.async, by partition
        self.flying: list[tuple[float, int, Barrier, Touch]] = []
        self.ready_at = {"tensor core": 0.0, "copies": 0.0}
        self._counted = dict(counters)

    @property
    def me(self) -> Partition:
        """The partition that runs."""
        return self.baton.current

    # time

    def rest(self) -> None:
        """Charge what was computed since, and let another partition come first, if it is drawn."""
        self.charge()
        self.baton.rest()

    def charge(self) -> None:
        """The running partition's clock goes on by what it computed since the last look."""
        cycles = timeline.arithmetic(self._counted, self.counters)
        if cycles:
            me = self.me
            self.note("compute", me.now, me.now + cycles)
            me.now += cycles
        self._counted = dict(self.counters)

    def note(self, what: str, begin: float, end: float, place: Place | None = None, **facts: Any) -> int:
        """Keep an event of the running partition."""
        return self.timeline.note(
            launch=self.launch, program=self.program, partition=self.me.name, what=what, begin=begin, end=end,
            place=place, **facts,
        )  # fmt: skip

    def step(self, what: str, cycles: float, place: Place | None, **facts: Any) -> int:
        """Something that the running partition does itself, and that takes so long."""
        me = self.me
        number = self.note(what, me.now, me.now + cycles, place, issued=me.now, **facts)
        me.now += cycles
        return number

    def fail(self, kind: str, *places: Place | None, **facts: Any) -> SyncError:
        """The error for a fault."""
        return SyncError(SyncFault(kind, {"who": self.me.name, **facts}, places))

    # shared memory

    def allocate(self, size: int) -> Allocation:
        """Fresh shared memory, named after the variable that the learner's line assigns."""
        place = self.place()
        found = ASSIGNED.match(place.text) if place is not None else None
        self.allocations += 1
        return Allocation.of(self.allocations, found[1] if found else "a buffer", place, size)

    def read(self, view: SharedView) -> None:
        """An ordinary load of a view: it must be there."""
        self.rest()
        place = self.place()
        self._check(view, "load", False, place)
        self._touch(view, "load", False, place)
        self.step(
            "shared load", view.nbytes / timeline.SHARED_BYTES, place, buffer=view.name, bytes=view.nbytes
        )

    def write(self, view: SharedView) -> None:
        """An ordinary store to a view: nobody may need what is there."""
        self.rest()
        place = self.place()
        self._check(view, "store", True, place)
        self._touch(view, "store", True, place)
        self.step(
            "shared store", view.nbytes / timeline.SHARED_BYTES, place, buffer=view.name, bytes=view.nbytes
        )

    def _touch(self, view: SharedView, what: str, writes: bool, place: Place | None) -> None:
        me = self.me
        leave(Touch(what, writes, me.agent, me.tick(), me, place, view))

    def _check(self, view: SharedView, what: str, writes: bool, place: Place | None) -> None:
        self._exists(view)
        known = self.me.known
        for earlier in meets(view, writes):
            if not known.knows(earlier.agent, earlier.epoch):
                raise self._unordered(earlier, view, what, writes, place)
            generic = earlier.what in ("store", "cp.async") and not writes
            if generic and what in ASYNCHRONOUS and not known.shows(earlier.agent, earlier.epoch):
                raise self.fail("no fence", place, earlier.place, what=what, buffer=view.name,
                                writer=earlier.partition.name)  # fmt: skip
        if not writes and view.never_written():
            if self.baton.others_first(lambda: not view.never_written()):
                return self._check(view, what, writes, place)
            raise self.fail("never written", place, view.allocation.place, what=what, buffer=view.name)

    def _exists(self, view: SharedView) -> None:
        if view.lost is not None:
            index, count = view.lost
            raise self.fail(
                "no such buffer", self.place(), view.allocation.place, buffer=view.allocation.name,
                index=index, count=count,
            )  # fmt: skip

    def _unordered(self, earlier: Touch, view: SharedView, what: str, writes: bool, place) -> SyncError:
        """The fault of meeting an access that is not known to be over."""
        me, barrier = self.me, earlier.barrier
        facts = {"what": what, "buffer": view.name, "other": earlier.partition.name, "did": earlier.what}
        if earlier.writes and barrier is not None:
            facts |= {"barrier": barrier.name, "phase": earlier.phase, "writes": writes}
            passed = me.waits.get(barrier.number)
            if passed is not None and passed[2] <= earlier.phase:
                facts |= {"parity": passed[1], "completed": passed[2]}
                return self.fail("phase is off", place, earlier.place, passed[0], **facts)
            return self.fail("copy not waited for", place, earlier.place, **facts)
        if earlier.what in ("wgmma", "tma store", "cp.async") and me.known.knows(*earlier.issued):
            own = earlier.partition is me
            return self.fail(f"{earlier.what} not waited for", place, earlier.place, own=own, **facts)
        kind = (
            "overwritten" if writes and not earlier.writes else "two writers" if writes else "unordered read"
        )
        return self.fail(kind, place, earlier.place, **facts)

    # asynchronous operations

    def load(self, view: SharedView, barrier_view: SharedView, name: str) -> None:
        """A TMA copy into a view, which completes bytes of a barrier."""
        barrier = self.barrier(barrier_view, "tma load")
        self.charge()
        place, me = self.place(), self.me
        self._check(view, "tma load", True, place)
        begin = max(me.now, self.ready_at["copies"])
        self.ready_at["copies"] = begin + view.nbytes / timeline.COPY_BYTES
        end = self.ready_at["copies"] + timeline.COPY_LATENCY
        event = self.note("tma load", begin, end, place, issued=me.now, barrier=barrier.name, buffer=view.name,
                          phase=barrier.completed, bytes=view.nbytes)  # fmt: skip
        me.now += 1
        touch = Touch("tma load", True, barrier.agent, barrier.completed + 1, me, place, view, barrier,
                      barrier.completed, event)  # fmt: skip
        leave(touch)
        barrier.copied += view.nbytes
        barrier.copies.append((view.nbytes, place))
        self.made += 1
        heapq.heappush(self.flying, (end, self.made, barrier, touch))
        self._too_many_bytes(barrier, place)

    def store(self, view: SharedView) -> None:
        """A TMA copy out of a view."""
        self.rest()
        place, me = self.place(), self.me
        self._check(view, "tma store", False, place)
        begin = max(me.now, self.ready_at["copies"])
        end = self.ready_at["copies"] = begin + view.nbytes / timeline.COPY_BYTES
        event = self.note("tma store", begin, end, place, issued=me.now, buffer=view.name, bytes=view.nbytes)
        me.now += 1
        self.asynchronous("tma store", (view,), place, end, event)

    def copy_in(self, view: SharedView) -> None:
        """A cp.async copy into a view: over with the group that is committed next, when that is waited for."""
        self.charge()
        place, me = self.place(), self.me
        self._check(view, "cp.async", True, place)
        group = me.issued.get("cp.async", 0) + 1
        issued = (me.agent, me.tick())
        leave(Touch("cp.async", True, me.own("cp.async"), group, me, place, view, issued=issued))
        self.uncommitted[me.index] = self.uncommitted.get(me.index, 0) + view.nbytes

    def commit(self) -> None:
        """The running partition's copies since the last one become a group."""
        place, me = self.place(), self.me
        size = self.uncommitted.pop(me.index, 0)
        begin = max(me.now, self.ready_at["copies"])
        self.ready_at["copies"] = begin + size / timeline.COPY_BYTES
        end = self.ready_at["copies"] + (timeline.COPY_LATENCY if size else 0)
        event = self.note("cp.async", begin, end, place, issued=me.now, bytes=size)
        me.issue("cp.async", (place, end, event))

    def product(self, views: list[SharedView], operations: int) -> None:
        """A product of a warpgroup, which reads its operands until it is waited for."""
        self.charge()
        place, me = self.place(), self.me
        for view in views:
            self._check(view, "wgmma", False, place)
        begin = max(me.now, self.ready_at["tensor core"])
        end = self.ready_at["tensor core"] = begin + operations / timeline.TENSOR_OPERATIONS
        names = ", ".join(view.name for view in views)
        event = self.note("wgmma", begin, end, place, issued=me.now, buffer=names)
        me.now += 1
        self.asynchronous("wgmma", tuple(views), place, end, event)

    def asynchronous(self, what: str, views: tuple, place: Place | None, end: float, event: int,
                     writes: bool = False) -> int:  # fmt: skip
        """Note an operation of the running partition's own that goes on until it waits for it."""
        me = self.me
        number = me.issue(what, (place, end, event))
        issued = (me.agent, me.tick())
        for view in views:
            leave(Touch(what, writes, me.own(what), number, me, place, view, event=event, issued=issued))
        return number

    def finish(self, what: str, outstanding: int) -> None:
        """Wait until so many of the running partition's operations of a kind are left."""
        self.charge()
        me, begin = self.me, self.me.now
        over = me.finish(what, outstanding)
        me.now = max([me.now, *(end for _, end, _ in over)])
        said = {"wgmma": "wgmma wait", "tma store": "store wait", "cp.async": "copy wait"}[what]
        after = tuple(event for _, _, event in over if event >= 0)
        self.note(said, begin, me.now, self.place(), issued=begin, after=after)
        self.baton.rest()

    def fence(self) -> None:
        """`fence_async_shared`: what was stored before is seen by what is asynchronous after."""
        self.charge()
        self.me.known.fence()
        self.step("fence", 1, self.place())

    # barriers

    def make(self, view: SharedView, count: int) -> None:
        """`mbarrier.init`."""
        self.charge()
        self._exists(view)
        place, me = self.place(), self.me
        self.made += 1
        barrier = Barrier(self.made, view.name, count, place, me, me.tick())
        self.barriers[view.allocation.number, view.span[0]] = barrier
        self.step("init", 1, place, barrier=view.name)

    def unmake(self, view: SharedView) -> None:
        """`mbarrier.invalidate`."""
        self.barrier(view, "invalidate")
        del self.barriers[view.allocation.number, view.span[0]]

    def barrier(self, view: SharedView, what: str) -> Barrier:
        """The barrier of a view, initialised as the running partition sees it."""
        self._exists(view)
        barrier = self.barriers.get((view.allocation.number, view.span[0]))
        if barrier is None:
            raise self.fail("no init", self.place(), view.allocation.place, barrier=view.name, what=what)
        if not self.me.known.knows(barrier.by.agent, barrier.epoch):
            raise self.fail("init not visible", self.place(), barrier.place, barrier=view.name, what=what,
                            other=barrier.by.name)  # fmt: skip
        return barrier

    def expect(self, view: SharedView, size: int) -> None:
        """`mbarrier.expect`: so many bytes more, and one arrival."""
        self._arrive(self.barrier(view, "expect"), 1, "expect", size)

    def arrive(self, view: SharedView, count: int) -> None:
        """`mbarrier.arrive`."""
        self._arrive(self.barrier(view, "arrive"), count, "arrive")

    def _arrive(self, barrier: Barrier, count: int, what: str, size: int = 0) -> None:
        self.charge()
        place, me = self.place(), self.me
        if what == "expect" and not barrier.pending:
            first = barrier.arrivals[-1][1]
            raise self.fail("expected again", place, first, barrier=barrier.name, phase=barrier.completed,
                            lacks=barrier.expected - barrier.landed)  # fmt: skip
        if count > barrier.pending:
            raise self.fail("arrival too many", place, barrier.place, barrier=barrier.name, count=count,
                            pending=barrier.pending, of=barrier.count)  # fmt: skip
        barrier.pending -= count
        if what == "expect":
            barrier.expected += size
            barrier.expects.append((size, place))
        barrier.arrivals.append((me, place, barrier.completed))
        barrier.gathered.take(me.known)
        me.tick()
        event = self.step(what, 1, place, barrier=barrier.name, phase=barrier.completed)
        barrier.events.append(event)
        barrier.latest = max(barrier.latest, me.now)
        self._too_many_bytes(barrier, place)
        self._complete(barrier, place)
        self.baton.rest()

    def _too_many_bytes(self, barrier: Barrier, place: Place | None) -> None:
        """More bytes on their way than the phase was told of: it completes before they are there."""
        if barrier.pending == 0 and barrier.copied > barrier.expected:
            expect = barrier.expects[-1][1] if barrier.expects else None
            raise self.fail("bytes", place, expect, barrier=barrier.name, copied=barrier.copied,
                            expected=barrier.expected, hangs=False)  # fmt: skip

    def _complete(self, barrier: Barrier, place: Place | None) -> None:
        if not barrier.full:
            return
        waiting = [p for p in self.baton.partitions if p.waiting is not None and p.waiting.barrier is barrier]
        missed = next((p for p in waiting if p.waiting.over()), None)
        barrier.complete()
        if missed is not None and not missed.waiting.over():
            raise self.fail("phase overrun", place, missed.waiting.place, barrier=barrier.name,
                            missed=missed.name, completed=barrier.completed)  # fmt: skip

    def wait(self, view: SharedView, parity: int) -> None:
        """`mbarrier.wait`."""
        barrier = self.barrier(view, "wait")
        self.rest()
        place, me = self.place(), self.me
        begin = me.now
        at_once = self.baton.wait(Waiting(lambda: barrier.passes(parity), barrier, parity, place))
        me.known.take(barrier.released)
        me.known.seen[barrier.agent] = barrier.completed
        if barrier.completed:
            me.now = max(me.now, barrier.completed_at)
        me.waits[barrier.number] = (place, parity, barrier.completed, at_once)
        self._counted = dict(self.counters)
        after = tuple(event for event in barrier.completing if event >= 0)
        self.note("wait", begin, me.now, place, issued=begin, barrier=barrier.name,
                  phase=barrier.completed - 1, after=after)  # fmt: skip

    def _land(self) -> bool:
        """The copy that ends first ends."""
        if not self.flying:
            return False
        end, _, barrier, touch = heapq.heappop(self.flying)
        if touch.phase == barrier.completed:
            barrier.landed += touch.view.nbytes
            barrier.latest = max(barrier.latest, end)
            barrier.events.append(touch.event)
            self._complete(barrier, touch.place)
        return True

    # partitions

    def specialise(
        self, first: Callable[[], Any], name: str, workers: list[tuple[str, int, Callable]]
    ) -> Any:
        """Run the default partition here and the workers beside it; what the default partition returns."""
        self.charge()
        me, place = self.me, self.place()
        if me.index or len(self.baton.partitions) > 1:
            if me.index or any(not p.ended for p in self.baton.partitions[1:]):
                raise self.fail("nested", place)
        self.step("fork", 1, place)
        me.tick()
        names = _told_apart([name, *(title for title, _, _ in workers)])
        before, me.name = me.name, names[0]
        base = len(self.baton.partitions)
        fresh = []
        for number, (_, warps, run) in enumerate(workers):
            partition = Partition(base + number, names[number + 1], warps, me.known.copy(), me.now)
            fresh.append((partition, lambda run=run: self._work(run)))
        self.baton.fork(fresh)
        result = first()
        self.charge()
        self.ended()
        self.baton.wait(Waiting(lambda: all(p.ended for p, _ in fresh), None, 0, self.place()))
        for partition, _ in fresh:
            me.known.take(partition.known)
        me.now = max([me.now, *(p.now for p, _ in fresh)])
        me.name = before
        self._counted = dict(self.counters)
        self.step("join", 1, place)
        return result

    def _work(self, run: Callable[[], Any]) -> None:
        self._counted = dict(self.counters)
        run()
        self.charge()
        self.ended()
        self.me.tick()

    def ended(self) -> None:
        """The running partition's code is over: nothing of its own may be under way."""
        for what in ("tma store", "wgmma"):
            for place, _, _ in self.me.unfinished(what)[:1]:
                raise self.fail(f"{what} never waited for", place)

    def close(self) -> None:
        """The program is over: no barrier may be left with bytes that nobody expected."""
        self.charge()
        self.ended()
        while self._land():
            pass
        for barrier in self.barriers.values():
            if barrier.copied > barrier.expected:
                raise self.fail("bytes", barrier.copies[-1][1], None, barrier=barrier.name, hangs=False,
                                copied=barrier.copied, expected=barrier.expected)  # fmt: skip

    def _deadlock(self, waiting: list[Partition]) -> SyncError:
        """All wait for ever: who for what, and who has arrived there so far."""
        held = []
        for partition in waiting:
            wait = partition.waiting
            barrier = wait.barrier
            if barrier is None:
                continue
            last = barrier.arrivals[-1] if barrier.arrivals else None
            held.append({
                "who": partition.name, "line": wait.place.line if wait.place else 0, "barrier": barrier.name,
                "parity": wait.parity, "completed": barrier.completed, "pending": barrier.pending,
                "count": barrier.count, "expected": barrier.expected, "copied": barrier.copied,
                "arrived": last[0].name if last else "", "arrived_line": last[1].line if last and last[1] else 0,
            })  # fmt: skip
            if barrier.copied != barrier.expected and (barrier.pending == 0 or not barrier.expects):
                expect = barrier.expects[-1][1] if barrier.expects else None
                copy = barrier.copies[-1][1] if barrier.copies else None
                return SyncError(SyncFault("bytes", {
                    "who": partition.name, "barrier": barrier.name, "copied": barrier.copied,
                    "expected": barrier.expected, "hangs": True,
                }, (expect or wait.place, copy, wait.place)))  # fmt: skip
        places = tuple(p.waiting.place for p in waiting if p.waiting.barrier is not None)
        return SyncError(SyncFault("deadlock", {"waiting": tuple(held)}, places))


def _told_apart(names: list[str]) -> list[str]:
    """Names of partitions; those that run one function are numbered: "consume 1", "consume 2"."""
    return [
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]
