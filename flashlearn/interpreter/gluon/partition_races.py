"""Races in global memory between the partitions of one program.

Inside `warp_specialize` each access gets a segment of its own in the `RaceDetector`, so that a tensor's
shadows name the access that touched an element last. Two partitions race if one of them writes what the
other touched, and neither had to wait for the other in between. An asynchronous access counts as over when
it was asked for, or when its barrier says so: only what nothing orders is reported. Writing the value that is
there already is harmless, as between programs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.gluon.program import GluonProgram
from flashlearn.interpreter.gluon.vector_clock import Agent, VectorClock
from flashlearn.interpreter.observer import Observer
from flashlearn.interpreter.observers.races import RaceDetector, changed_units, element
from flashlearn.observation import Place


@dataclass(frozen=True)
class PartitionAccess:
    """An access of global memory: by whom, what, where. It is over at its partition's epoch, or at `until`.

    `idle` is a write of what was there already, which no reader sees.
    """

    partition: Any
    epoch: int
    what: str
    place: Place | None
    until: tuple[Agent, int] | None
    idle: bool


@dataclass
class PartitionRaces(Observer):
    """What the partitions of `program` did to global memory, by segment; it comes before `races`.

    `until` ends the copy that is under way: a barrier's agent, and the epoch at which it is over.
    """

    program: GluonProgram
    races: RaceDetector
    until: tuple[Agent, int] | None = None
    noted: dict[int, PartitionAccess] = field(default_factory=dict)
    released: dict[tuple[int, int], VectorClock] = field(default_factory=dict)

    def before_load(self, access: Access) -> None:
        """A read. Raises SyncError."""
        region = access.region
        if self._opens_segment("load") and region.written_in_launch:
            self._check(access, (region.writer, region.atomic))

    def before_store(self, access: Access) -> None:
        """A write. Raises SyncError."""
        region = access.region
        changed = changed_units(access) if self.program.apart else None
        if self._opens_segment("store", changed is not None and not changed.any()):
            self._check(access, (region.writer, region.atomic, region.reader), changed)

    def on_synchronization(self, access: Access) -> None:
        """A scalar atomic: it may be a lock or a flag, which orders what came before with what comes."""
        if access.index.size != 1:
            return
        key = access.region.index, int(access.index[0])
        known, here = self.program.me.known, self.released.setdefault(key, VectorClock())
        known.take(here)
        here.take(known)

    def before_atomic(self, access: Access) -> None:
        """An atomic update, which is ordered with others of its kind. Raises SyncError."""
        if self._opens_segment("atomic"):
            self._check(access, (access.region.writer, access.region.reader))

    def _opens_segment(self, what: str, idle: bool = False) -> bool:
        """Begin an access's own segment; False where one partition is alone."""
        program, races = self.program, self.races
        if program.apart or races.segment in self.noted:
            races.new_segment()
        if program.apart:
            me = program.me
            access = PartitionAccess(me, me.tick(), what, program.place(), self.until, idle)
            self.noted[races.segment] = access
        return program.apart

    def _check(
        self, access: Access, shadows: tuple[np.ndarray, ...], changed: np.ndarray | None = None
    ) -> None:
        for shadow in shadows:
            segments = np.abs(shadow[access.units])
            for segment in np.unique(segments[segments >= self.races.program_start]):
                earlier = self.noted.get(int(segment))
                if earlier is None or self._is_known(earlier) or (earlier.idle and access.kind == "load"):
                    continue
                lanes = segments == segment
                lanes = lanes if changed is None else lanes & changed
                if lanes.any():
                    at = element(access.region, int(access.units[lanes][0]) * access.region.unit)
                    raise self.program.fail(
                        "global memory", self.program.place(), earlier.place, at=at, what=access.kind,
                        other=earlier.partition.name, did=earlier.what,
                    )  # fmt: skip

    def _is_known(self, earlier: PartitionAccess) -> bool:
        me = self.program.me
        if earlier.partition is me or me.known.knows(earlier.partition.agent, earlier.epoch):
            return True
        return earlier.until is not None and me.known.knows(*earlier.until)
