"""Asynchronous operations: copies by TMA and cp.async, products of warpgroups."""

from __future__ import annotations

import heapq

from flashlearn.interpreter.gluon import timeline
from flashlearn.interpreter.gluon.barriers import Barrier
from flashlearn.interpreter.gluon.shared_memory import SharedAccess, SharedView, leave
from flashlearn.interpreter.gluon.shared_memory_ops import SharedMemoryOps
from flashlearn.interpreter.gluon.vector_clock import Agent
from flashlearn.observation import Place


class AsyncOps(SharedMemoryOps):
    """Asynchronous operations; they end where they are waited for."""

    def barrier(self, view: SharedView, what: str) -> Barrier:
        """The barrier of a view."""
        raise NotImplementedError

    def too_many_bytes(self, barrier: Barrier, place: Place | None, after: str = "copy") -> None:
        """Raise the fault of bytes that were not expected."""
        raise NotImplementedError

    def load(self, view: SharedView, barrier_view: SharedView) -> tuple[Agent, int]:
        """A TMA copy into a view, which completes bytes of a barrier: over at that one's epoch, returned."""
        barrier = self.barrier(barrier_view, "tma load")
        self.charge()
        place, me = self.place(), self.me
        self.check(view, "tma load", True, place)
        begin = max(me.now, self.ready_at["copies"])
        self.ready_at["copies"] = begin + view.nbytes / timeline.COPY_BYTES
        end = self.ready_at["copies"] + timeline.COPY_LATENCY
        facts = {"barrier": barrier.name, "buffer": view.name, "phase": barrier.completed}
        event = self.note("tma load", begin, end, place, issued=me.now, bytes=view.nbytes, **facts)
        me.now += 1
        phase = barrier.completed
        touch = SharedAccess(
            "tma load", True, barrier.agent, phase + 1, me, place, view, barrier, phase, event
        )
        touch.when = self.moment()
        leave(touch)
        self.loads.append(touch)
        barrier.before.take(me.known)
        barrier.copied += view.nbytes
        barrier.copies.append((view.nbytes, place))
        heapq.heappush(self.flying, (end, touch.when, barrier, touch))
        self.too_many_bytes(barrier, place)
        return touch.agent, touch.epoch

    def store(self, view: SharedView) -> None:
        """A TMA copy out of a view."""
        self.rest()
        place, me = self.place(), self.me
        self.check(view, "tma store", False, place)
        begin = max(me.now, self.ready_at["copies"])
        end = self.ready_at["copies"] = begin + view.nbytes / timeline.COPY_BYTES
        event = self.note("tma store", begin, end, place, issued=me.now, buffer=view.name, bytes=view.nbytes)
        me.now += 1
        self.asynchronous("tma store", (view,), place, end, event)

    def copy_in(self, view: SharedView) -> None:
        """A cp.async copy into a view: over when the group that is committed next is waited for."""
        self.charge()
        place, me = self.place(), self.me
        self.check(view, "cp.async", True, place)
        group = me.issued.get("cp.async", 0) + 1
        issued = (me.agent, me.tick())
        leave(SharedAccess("cp.async", True, me.own("cp.async"), group, me, place, view, issued=issued))
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
            self.check(view, "wgmma", False, place)
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
            leave(
                SharedAccess(what, writes, me.own(what), number, me, place, view, event=event, issued=issued)
            )
        return number

    def finish(self, what: str, outstanding: int) -> None:
        """Wait until `outstanding` of the running partition's operations of a kind are left."""
        self.charge()
        me, begin = self.me, self.me.now
        over = me.finish(what, outstanding)
        me.now = max([me.now, *(end for _, end, _ in over)])
        event = {"wgmma": "wgmma wait", "tma store": "store wait", "cp.async": "copy wait"}[what]
        after = tuple(event for _, _, event in over if event >= 0)
        self.note(event, begin, me.now, self.place(), issued=begin, after=after)
        self.baton.rest()

    def fence(self) -> None:
        """`fence_async_shared`: what was stored before is seen by what is asynchronous after."""
        self.charge()
        self.me.known.fence()
        self.step("fence", 1, self.place())
