"""Global memory between the partitions of one program: does whoever touches an element know who did before?

Inside `warp_specialize` each access gets a segment of its own in the `RaceDetector`, so that a tensor's
shadows name the access that touched an element last. Two partitions race if one of them writes what the
other touched, and neither had to wait for the other in between. An asynchronous access counts as over when
it was asked for, or when its barrier says so: told is only what nothing orders. Writing the value that is
there already is harmless, as between programs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from flashlearn.interpreter.gluon.vector_clock import Agent, VectorClock
from flashlearn.interpreter.observers.races import RaceDetector, element
from flashlearn.outcome import Place

if TYPE_CHECKING:
    from flashlearn.interpreter.gluon.program import GluonProgram
    from flashlearn.interpreter.shadow import Region


@dataclass(frozen=True)
class PartitionAccess:
    """An access of global memory: by whom, what, where; over at its partition's epoch, or at `until`.

    `idle` is a write of what was there already, which no reader sees.
    """

    partition: Any
    epoch: int
    what: str
    place: Place | None
    until: tuple[Agent, int] | None
    idle: bool


@dataclass
class PartitionRaces:
    """What the partitions of `block` did to global memory, by segment. `until` ends the copy under way."""

    block: GluonProgram
    races: RaceDetector
    until: tuple[Agent, int] | None = None
    noted: dict[int, PartitionAccess] = field(default_factory=dict)
    released: dict[tuple[int, int], VectorClock] = field(default_factory=dict)

    def load(self, region: Region, units: np.ndarray) -> None:
        """A read. Raises SyncError."""
        if self._opened("load") and region.written_in_launch:
            self._meet("load", region, units, (region.writer, region.atomic))

    def store(self, region: Region, units: np.ndarray, changes: Callable[[], np.ndarray]) -> None:
        """A write; `changes` tells for each unit whether it has another value then. Raises SyncError."""
        changed = changes() if self.block.apart else None
        if self._opened("store", changed is not None and not changed.any()):
            self._meet("store", region, units, (region.writer, region.atomic, region.reader), changed)

    def atomic(self, region: Region, units: np.ndarray) -> None:
        """An atomic update, which is ordered with others of its kind. Raises SyncError."""
        if self._opened("atomic"):
            self._meet("atomic", region, units, (region.writer, region.reader))

    def synchronise(self, region: int, index: int) -> None:
        """A scalar atomic: it may be a lock or a flag, which orders what came before with what comes."""
        known, here = self.block.me.known, self.released.setdefault((region, index), VectorClock())
        known.take(here)
        here.take(known)

    def _opened(self, what: str, idle: bool = False) -> bool:
        """Begin an access's own segment; False where one partition is alone."""
        block, races = self.block, self.races
        if block.apart or races.segment in self.noted:
            races.new_segment()
        if block.apart:
            me = block.me
            self.noted[races.segment] = PartitionAccess(me, me.tick(), what, block.place(), self.until, idle)
        return block.apart

    def _meet(
        self,
        what: str,
        region: Region,
        units: np.ndarray,
        shadows: tuple[np.ndarray, ...],
        changed: np.ndarray | None = None,
    ) -> None:
        for shadow in shadows:
            segments = np.abs(shadow[units])
            for segment in np.unique(segments[segments >= self.races.program_start]):
                earlier = self.noted.get(int(segment))
                if earlier is None or self._known(earlier) or (earlier.idle and what == "load"):
                    continue
                lanes = segments == segment
                lanes = lanes if changed is None else lanes & changed
                if lanes.any():
                    at = element(region, int(units[lanes][0]) * region.unit)
                    raise self.block.fail(
                        "global memory", self.block.place(), earlier.place, at=at, what=what,
                        other=earlier.partition.name, did=earlier.what,
                    )  # fmt: skip

    def _known(self, earlier: PartitionAccess) -> bool:
        me = self.block.me
        if earlier.partition is me or me.known.knows(earlier.partition.agent, earlier.epoch):
            return True
        return earlier.until is not None and me.known.knows(*earlier.until)
