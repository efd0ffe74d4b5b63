"""A program's shared memory: every access is checked against what the running partition knows."""

from __future__ import annotations

import re
from typing import Any

from flashlearn.interpreter.gluon import timeline
from flashlearn.interpreter.gluon.partitions import Partition
from flashlearn.interpreter.gluon.program_state import ProgramState
from flashlearn.interpreter.gluon.shared_memory import Allocation, SharedAccess, SharedView, leave, meets
from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.observation import Place

ASYNCHRONOUS = ("wgmma", "tma load", "tma store")
"""What reaches shared memory by the asynchronous proxy, and so past ordinary stores without a fence."""
ASSIGNED = re.compile(r"^\s*(?:self\.)?(\w+)\s*(?::[^=]*)?=[^=]")


class SharedMemoryOps(ProgramState):
    """Allocations, and the loads and stores of a partition's own."""

    def allocate(self, size: int) -> Allocation:
        """Fresh shared memory, named after the variable that the learner's line assigns.

        What a helper allocates each time it is called is numbered from the second one on: "ring 2".
        """
        place = self.place()
        found = ASSIGNED.match(place.text) if place is not None else None
        name = found[1] if found else "a buffer"
        self.allocations += 1
        self.named[name] = self.named.get(name, 0) + 1
        title = name if self.named[name] == 1 else f"{name} {self.named[name]}"
        return Allocation.of(self.allocations, title, place, size)

    def read(self, view: SharedView) -> None:
        """An ordinary load of a view: it must be there."""
        self.rest()
        place = self.place()
        self.check(view, "load", False, place)
        self._touch(view, "load", False, place)
        self.step(
            "shared load", view.nbytes / timeline.SHARED_BYTES, place, buffer=view.name, bytes=view.nbytes
        )

    def write(self, view: SharedView) -> None:
        """An ordinary store to a view: what is there may not be needed any more."""
        self.rest()
        place = self.place()
        self.check(view, "store", True, place)
        self._touch(view, "store", True, place)
        self.step(
            "shared store", view.nbytes / timeline.SHARED_BYTES, place, buffer=view.name, bytes=view.nbytes
        )

    def _touch(self, view: SharedView, what: str, writes: bool, place: Place | None) -> None:
        me = self.me
        leave(SharedAccess(what, writes, me.agent, me.tick(), me, place, view))

    def check(self, view: SharedView, what: str, writes: bool, place: Place | None) -> None:
        """An access is about to begin: what it meets must be over, and what it reads be there."""
        self.exists(view)
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
                return self.check(view, what, writes, place)
            raise self.fail("never written", place, view.allocation.place, what=what, buffer=view.name)
        if not writes:
            self.me.reads[view.allocation.number, view.span] = view, self.moment()

    def exists(self, view: SharedView) -> None:
        """Raise the fault of using a buffer that is none."""
        if view.lost is not None:
            index, count = view.lost
            raise self.fail(
                "no such buffer", self.place(), view.allocation.place, buffer=view.allocation.name,
                index=index, count=count,
            )  # fmt: skip

    def _unordered(
        self, earlier: SharedAccess, view: SharedView, what: str, writes: bool, place
    ) -> SyncError:
        """The fault of meeting an access that is not known to be over."""
        me, barrier = self.me, earlier.barrier
        facts = {"what": what, "buffer": view.name, "other": earlier.partition.name, "did": earlier.what}
        if earlier.writes and barrier is not None:
            facts |= {"barrier": barrier.name, "phase": earlier.phase, "writes": writes}
            passed = me.waits.get(barrier.number)
            facts |= {"waited": passed is not None}
            if passed is not None and passed.completed <= earlier.phase:
                if not passed.completed or (passed.again and passed.when > earlier.when):
                    facts |= {"parity": passed.parity, "completed": passed.completed}
                    return self.fail("phase is off", place, earlier.place, passed.place, **facts)
                read = (when for seen, when in me.reads.values() if seen.overlaps(view))
                if max(read, default=0) < passed.when:  # what the wait was for has not been read
                    facts |= {"own": earlier.partition is me}
                    return self.fail("refilled before read", place, earlier.place, passed.place, **facts)
            return self.fail("copy not waited for", place, earlier.place, **facts)
        if earlier.what in ("wgmma", "tma store", "cp.async") and me.known.knows(*earlier.issued):
            own = earlier.partition is me
            return self.fail(f"{earlier.what} not waited for", place, earlier.place, own=own, **facts)
        if writes and (alone := self._alone(earlier.partition)):
            facts |= {"alone": alone}
        kind = (
            "overwritten" if writes and not earlier.writes else "two writers" if writes else "unordered read"
        )
        return self.fail(kind, place, earlier.place, **facts)

    def _alone(self, other: Partition) -> dict[str, Any]:
        """If a phase that the running partition waited for was completed without `other`: by whom, and where.

        Only phases in which one arrival counted for several are considered, where `other` arrives too.
        """
        for barrier in self.barriers.values():
            passed = self.me.waits.get(barrier.number)
            if passed is None or not passed.completed:
                continue
            phase = [arrival for arrival in barrier.arrivals if arrival[2] == passed.completed - 1]
            several = [arrival for arrival in phase if arrival[3] > 1]
            if several and all(arrival[0] is not other for arrival in phase):
                who, where, _, count = several[0]
                line = where.line if where else 0
                return {"who": who.name, "line": line, "count": count, "barrier": barrier.name}
        return {}
