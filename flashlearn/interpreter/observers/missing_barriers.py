"""What a program stores and other lanes of it load again, with nothing in between that makes them wait.

The lanes of a tile lie in many threads. A thread sees what it stored itself; what another thread of the
program stored it sees for certain only after a barrier (PTX ISA, "bar.sync"), and Triton puts none between
a store to global memory and a load. Interpreted, a store is finished before the next line begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flashlearn.interpreter.cautions import SCRATCH

if TYPE_CHECKING:
    from flashlearn.interpreter.memory import Memory
    from flashlearn.interpreter.shadow import Region

MOST = 256  # stores that are remembered; a program that makes more of them before a barrier keeps the last


@dataclass
class Scratch:
    """The stores of the running program since its last barrier: region, elements, addresses as a tile."""

    stores: list[tuple[Region, int, np.ndarray, np.ndarray]] = field(default_factory=list)

    def forget(self) -> None:
        """A barrier, or a new program: nothing is under way any more."""
        self.stores.clear()

    def note_store(self, region: Region, size: int, index: np.ndarray, addresses: np.ndarray) -> None:
        """Remember a store of the elements `index`, counted in items of `size` bytes."""
        self.stores.append((region, size, index, addresses))
        if len(self.stores) > MOST:
            del self.stores[0]

    def check_load(
        self, region: Region, size: int, index: np.ndarray, addresses: np.ndarray, memory: Memory
    ) -> None:
        """A load of elements that lie elsewhere in the tile than when they were stored."""
        for k in range(len(self.stores) - 1, -1, -1):
            stored_in, stored_size, stored, tile = self.stores[k]
            if stored_in is not region or stored_size != size or _apart(stored, index):
                continue
            if tile.shape == addresses.shape and np.array_equal(tile, addresses):
                return  # each lane loads what it stored, and the layouts are those of one shape
            if np.isin(index, stored).any():
                name = region.views[0].name
                sentence = (
                    f"The program loads elements of {name} that other lanes of it have stored since the last "
                    "barrier. On a GPU these lanes are other threads, and the load may be ahead of them: put "
                    "tl.debug_barrier() between the store and the load, or keep the values in a tile."
                )
                memory.cautions.add(SCRATCH, sentence, memory.place())
                return


def _apart(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(one.max() < other.min() or other.max() < one.min())
