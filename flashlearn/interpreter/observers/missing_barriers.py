"""Values that a program stores and then loads in other lanes, without a barrier in between.

The lanes of a tile lie in many threads. A thread sees what it stored itself; what another thread of the
program stored it sees for certain only after a barrier (PTX ISA, "bar.sync"), and Triton puts none between
a store to global memory and a load. Interpreted, a store is finished before the next line begins.
"""

from __future__ import annotations

import numpy as np

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.cautions import MISSING_BARRIER
from flashlearn.interpreter.learner_code import Program
from flashlearn.interpreter.observer import Observer
from flashlearn.interpreter.shadow import Region

MAX_STORES = 256
"""Stores that are remembered; a program that makes more of them before a barrier keeps the last ones."""


class MissingBarriers(Observer):
    """Remembers the stores of the running program since its last barrier, and looks for loads of them.

    A store is its region, its item size, its elements, and its addresses as a tile.
    """

    def __init__(self) -> None:
        self.stores: list[tuple[Region, int, np.ndarray, np.ndarray]] = []

    def before_program(self, program: Program, number: int) -> None:
        self.stores.clear()

    def on_barrier(self) -> None:
        self.stores.clear()

    def on_synchronization(self, access: Access) -> None:
        self.stores.clear()

    def after_write(self, access: Access) -> None:
        if access.kind != "store":
            return
        self.stores.append((access.region, access.itemsize, access.index, access.addresses))
        if len(self.stores) > MAX_STORES:
            del self.stores[0]

    def before_load(self, access: Access) -> None:
        """A load of elements that were stored by other lanes of the tile."""
        for region, itemsize, index, addresses in reversed(self.stores):
            if region is not access.region or itemsize != access.itemsize:
                continue
            if _are_disjoint(index, access.index):
                continue
            if np.array_equal(addresses, access.addresses):
                return  # each lane loads what it stored, and the layouts are those of one shape
            if np.isin(access.index, index).any():
                name = access.region.views_of(access.index, access.itemsize)[0].name
                sentence = (
                    f"The program loads elements of {name} that other lanes of it have stored since the last "
                    "barrier. On a GPU these lanes are other threads, and the load may run before their "
                    "stores: put "
                    "tl.debug_barrier() between the store and the load, or keep the values in a tile."
                )
                self.space.cautions.add(MISSING_BARRIER, sentence, self.space.place())
                return


def _are_disjoint(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(one.max() < other.min() or other.max() < one.min())
