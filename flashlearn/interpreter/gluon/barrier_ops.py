"""Operations on mbarriers: init, arrivals, expected bytes, waits for a phase, and completed copies."""

from __future__ import annotations

import heapq

from flashlearn.interpreter.gluon.async_ops import AsyncOps
from flashlearn.interpreter.gluon.barriers import Barrier
from flashlearn.interpreter.gluon.partitions import BarrierWait, PassedWait
from flashlearn.interpreter.gluon.shared_memory import SharedView
from flashlearn.observation import Place


class BarrierOps(AsyncOps):
    """What partitions do with barriers."""

    def make(self, view: SharedView, count: int) -> None:
        """`mbarrier.init`."""
        self.charge()
        self.exists(view)
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
        self.exists(view)
        barrier = self.barriers.get((view.allocation.number, view.span[0]))
        if barrier is None:
            raise self.fail("no init", self.place(), view.allocation.place, barrier=view.name, what=what)
        if not self.me.known.knows(barrier.by.agent, barrier.epoch):
            raise self.fail("init not visible", self.place(), barrier.place, barrier=view.name, what=what,
                            other=barrier.by.name)  # fmt: skip
        return barrier

    def expect(self, view: SharedView, size: int) -> None:
        """`mbarrier.expect`: `size` more bytes, and one arrival."""
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
                            lacks=barrier.expected - barrier.landed, asked=barrier.copied)  # fmt: skip
        if count > barrier.pending:
            raise self.fail("arrival too many", place, barrier.place, barrier=barrier.name, count=count,
                            pending=barrier.pending, of=barrier.count)  # fmt: skip
        barrier.pending -= count
        if what == "expect":
            barrier.expected += size
            barrier.expects.append((size, place))
        barrier.arrivals.append((me, place, barrier.completed, count))
        barrier.gathered.take(me.known)
        barrier.before.take(me.known)
        me.tick()
        event = self.step(what, 1, place, barrier=barrier.name, phase=barrier.completed)
        barrier.events.append(event)
        barrier.latest = max(barrier.latest, me.now)
        self.too_many_bytes(barrier, place, what)
        self.complete(barrier, place)
        self.baton.rest()

    def too_many_bytes(self, barrier: Barrier, place: Place | None, after: str = "copy") -> None:
        """More bytes under way than the phase expects: it would complete before they are there.

        That is seen `after` a copy was asked for, or with the "expect" or "arrive" that comes last.
        """
        if barrier.pending == 0 and barrier.copied > barrier.expected:
            expect = barrier.expects[-1][1] if barrier.expects else None
            raise self.fail("bytes", place, expect, barrier=barrier.name, copied=barrier.copied,
                            expected=barrier.expected, hangs=False, after=after)  # fmt: skip

    def complete(self, barrier: Barrier, place: Place | None) -> None:
        """Begin the next phase if this one is full; no partition may still wait for an earlier one."""
        if not barrier.full:
            return
        waiting = [p for p in self.baton.partitions if p.waiting is not None and p.waiting.barrier is barrier]
        missed = next((p for p in waiting if p.waiting.over()), None)
        knows = barrier.before.knows
        loose = next(((p, at) for p, epoch, at in barrier.passed if not knows(p.agent, epoch)), None)
        barrier.complete()
        if loose is not None and self.loose is None:
            waiter, at = loose
            self.loose = self.fail("phase may be over", place, at, barrier=barrier.name, missed=waiter.name,
                                   completed=barrier.completed)  # fmt: skip
        if missed is not None and not missed.waiting.over():
            raise self.fail("phase overrun", place, missed.waiting.place, barrier=barrier.name,
                            missed=missed.name, completed=barrier.completed)  # fmt: skip

    def wait(self, view: SharedView, parity: int) -> None:
        """`mbarrier.wait`. Of a number that is neither 0 nor 1 an H100 takes the lowest bit."""
        parity &= 1
        barrier = self.barrier(view, "wait")
        self.rest()
        place, me = self.place(), self.me
        begin = me.now
        self.baton.wait(BarrierWait(lambda: barrier.passes(parity), barrier, parity, place))
        me.known.take(barrier.released)
        me.known.seen[barrier.agent] = barrier.completed
        if barrier.completed:
            me.now = max(me.now, barrier.completed_at)
        before, asked = me.waits.get(barrier.number), (parity, barrier.completed)
        again = before is not None and (before.parity, before.completed) == asked
        barrier.passed.append((me, me.tick(), place))
        me.waits[barrier.number] = PassedWait(place, *asked, self.moment(), again)
        self._counted = dict(self.counters)
        after = tuple(event for event in barrier.completing if event >= 0)
        self.note("wait", begin, me.now, place, issued=begin, barrier=barrier.name,
                  phase=barrier.completed - 1, after=after)  # fmt: skip

    def land(self) -> bool:
        """The copy that ends first ends."""
        if not self.flying:
            return False
        end, _, barrier, touch = heapq.heappop(self.flying)
        if touch.phase == barrier.completed:
            barrier.landed += touch.view.nbytes
            barrier.latest = max(barrier.latest, end)
            barrier.events.append(touch.event)
            self.complete(barrier, touch.place)
        return True
