"""One program of a Gluon launch: its partitions, its shared memory, its barriers, and what is under way.

Every operation that touches shared memory or a barrier comes through here, is checked against what the
running partition knows, and is noted. What is asynchronous takes its values when it is issued, and gives them
when it is waited for; in between, every access to them is a fault. So a value that may be wrong on a GPU is
never seen: the first access that could have seen it is reported instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flashlearn.interpreter.gluon.barrier_ops import BarrierOps
from flashlearn.interpreter.gluon.partitions import BarrierWait, Partition
from flashlearn.interpreter.gluon.sync_faults import SyncError, SyncFault


class GluonProgram(BarrierOps):
    """A program: forked into partitions, joined, and at its end."""

    def specialize(
        self, first: Callable[[], Any], name: str, workers: list[tuple[str, int, Callable]]
    ) -> Any:
        """Run the default partition here and the workers beside it; what the default partition returns."""
        self.charge()
        me, place = self.me, self.place()
        if me.index or any(not p.ended for p in self.baton.partitions[1:]):
            raise self.fail("nested", place)
        self.step("fork", 1, place)
        me.tick()
        names = _distinguishable([name, *(title for title, _, _ in workers)])
        before, me.name = me.name, names[0]
        base = len(self.baton.partitions)
        fresh = []
        for number, (_, warps, run) in enumerate(workers):
            partition = Partition(base + number, names[number + 1], warps, me.known.copy(), me.now)
            fresh.append((partition, lambda run=run: self._work(run)))
        self.apart = True
        self.baton.fork(fresh)
        result = first()
        self.charge()
        self.ended()
        self.baton.wait(BarrierWait(lambda: all(p.ended for p, _ in fresh), None, 0, self.place()))
        for partition, _ in fresh:
            me.known.take(partition.known)
        self.apart = False
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
        """The program is over: nothing may be under way that was not waited for."""
        self.charge()
        self.ended()
        while self.land():
            pass
        for copy in self.loads:
            if not self.me.known.knows(copy.agent, copy.epoch):
                facts = {"buffer": copy.view.name, "barrier": copy.barrier.name, "phase": copy.phase}
                raise self.fail("copy never waited for", copy.place, **facts)
        for barrier in self.barriers.values():
            if barrier.copied > barrier.expected:
                raise self.fail("bytes", barrier.copies[-1][1], None, barrier=barrier.name, hangs=False,
                                copied=barrier.copied, expected=barrier.expected)  # fmt: skip
        if self.loose is not None:  # in this order all went well
            raise self.loose

    def deadlock(self, waiting: list[Partition]) -> SyncError:
        """All wait for ever: who for what, and who has arrived there so far; or bytes that do not add up."""
        waiting = [partition for partition in waiting if partition.waiting.barrier is not None]
        for partition in waiting:
            wait, barrier = partition.waiting, partition.waiting.barrier
            if barrier.copied != barrier.expected and (barrier.pending == 0 or not barrier.expects):
                expect = barrier.expects[-1][1] if barrier.expects else None
                copy = barrier.copies[-1][1] if barrier.copies else None
                return SyncError(SyncFault("bytes", {
                    "who": partition.name, "barrier": barrier.name, "copied": barrier.copied,
                    "expected": barrier.expected, "hangs": True,
                }, (expect or wait.place, copy, wait.place)))  # fmt: skip
        places = tuple(partition.waiting.place for partition in waiting)
        held = tuple({**_held(partition), **self._helpers(partition)} for partition in waiting)
        return SyncError(SyncFault("deadlock", {"waiting": held}, places))

    def _helpers(self, partition: Partition) -> dict[str, Any]:
        """Who has arrived on the barriers of the array that a partition waits for, and who has returned."""
        array = partition.waiting.barrier.name.split("[")[0]
        arrivals = (a for b in self.barriers.values() if b.name.split("[")[0] == array for a in b.arrivals)
        arrived = {agent.index: agent for agent, *_ in arrivals if agent is not None}
        over = {p.index for p in self.baton.partitions if p.ended or _joins(p)}
        return {
            "array": array,
            "helpers": tuple(p.name for p in arrived.values()),
            "returned": tuple(p.name for p in arrived.values() if p.index in over),
        }


def _joins(partition: Partition) -> bool:
    """Whether a partition has nothing left to do, and waits for the others to end."""
    return partition.waiting is not None and partition.waiting.barrier is None and not partition.gives_way


def _held(partition: Partition) -> dict[str, Any]:
    """What a partition waits for, as facts."""
    wait, barrier = partition.waiting, partition.waiting.barrier
    last, where, *_ = barrier.arrivals[-1] if barrier.arrivals else (None, None)
    return {
        "who": partition.name,
        "line": wait.place.line if wait.place else 0,
        "barrier": barrier.name,
        "parity": wait.parity,
        "completed": barrier.completed,
        "pending": barrier.pending,
        "count": barrier.count,
        "init_line": barrier.place.line if barrier.place else 0,
        "first": barrier.number not in partition.waits,
        "expected": barrier.expected,
        "copied": barrier.copied,
        "arrived": last.name if last else "",
        "arrived_line": where.line if where else 0,
    }


def _distinguishable(names: list[str]) -> list[str]:
    """Names of partitions; those that run one function are numbered: "consume 1", "consume 2"."""
    return [
        f"{name} {names[: i + 1].count(name)}" if names.count(name) > 1 else name
        for i, name in enumerate(names)
    ]
