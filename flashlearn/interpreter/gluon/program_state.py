"""A program while it runs: whose turn it is, and what time it is for each partition."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from flashlearn.interpreter.gluon import timeline
from flashlearn.interpreter.gluon.barriers import Barrier
from flashlearn.interpreter.gluon.partitions import Partition, PartitionScheduler
from flashlearn.interpreter.gluon.shared_memory import SharedAccess
from flashlearn.interpreter.gluon.sync_faults import SyncError, SyncFault
from flashlearn.interpreter.gluon.timeline import Timeline
from flashlearn.observation import Place


class ProgramState:
    """The state of a program. `place` gives the learner's line, `counters` what has been computed so far."""

    def __init__(
        self,
        name: str,
        warps: int,
        order: random.Random | None,
        place: Callable[[], Place | None],
        counters: dict[str, int],
        line: Timeline,
        whose: tuple[int, tuple[int, int, int]],
    ):
        first = Partition(0, name, warps)
        self.baton = PartitionScheduler(first, order, self.land, self.deadlock)
        self.place, self.counters, self.timeline = place, counters, line
        self.launch, self.program = whose
        self.apart = False  # True between a fork and its join
        self.allocations = 0
        self.named: dict[str, int] = {}  # how many allocations have a name
        self.barriers: dict[tuple[int, int], Barrier] = {}
        self.made = 0
        self.loose: SyncError | None = None  # of a wait whose phase may be over before it
        self.uncommitted: dict[int, int] = {}  # bytes of cp.async, by partition
        self.loads: list[SharedAccess] = []  # all copies by TMA into shared memory
        self.flying: list[tuple[float, int, Barrier, SharedAccess]] = []
        self.ready_at = {"tensor core": 0.0, "copies": 0.0}
        self._counted = dict(counters)

    @property
    def me(self) -> Partition:
        """The partition that runs."""
        return self.baton.current

    def moment(self) -> int:
        """A number that only grows: which of two accesses came first."""
        self.made += 1
        return self.made

    # time

    def rest(self) -> None:
        """Charge what was computed since, and let another partition come first, if it is drawn."""
        self.charge()
        self.baton.rest()

    def charge(self) -> None:
        """The running partition's clock goes on by what it computed since the last look."""
        plain, special = timeline.arithmetic(self._counted, self.counters)
        if plain or special:
            me = self.me
            self.note("compute", me.now, me.now + plain + special, special=special)
            me.now += plain + special
        self._counted = dict(self.counters)

    def note(self, what: str, begin: float, end: float, place: Place | None = None, **facts: Any) -> int:
        """Keep an event of the running partition."""
        return self.timeline.note(
            launch=self.launch, program=self.program, partition=self.me.name, what=what, begin=begin, end=end,
            place=place, index=self.me.index, **facts,
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

    def land(self) -> bool:
        """Let the copy that ends first end; False if none is under way."""
        raise NotImplementedError

    def deadlock(self, waiting: list[Partition]) -> SyncError:
        """The error for partitions that wait for ever."""
        raise NotImplementedError
