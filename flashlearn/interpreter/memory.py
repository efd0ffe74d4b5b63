"""The memory that programs see: virtual addresses, checked before anything happens.

Every load, store and atomic of an observed launch goes through `Memory`. Addresses are tested against the
tensors' windows first; then values move by NumPy indexing inside the tensor's own storage, so that no address
a kernel computes can reach anything else. Each access is published to the observers
(flashlearn.interpreter.observer), which count traffic, find races and whatever else is looked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flashlearn.interpreter import bounds
from flashlearn.interpreter.address_space import Access, AddressSpace
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.interpreter.low_precision import FLOATS
from flashlearn.interpreter.observer import Observer, Subscriptions
from flashlearn.interpreter.shadow import REGION_BITS, Region

if TYPE_CHECKING:
    from flashlearn.interpreter.observers.races import RaceDetector


@dataclass
class Memory(AddressSpace):
    """Moves values, and publishes every access.

    `undefined` is what lanes hold that a mask hides from a load without `other=`. After `budget` accesses
    comes TimeLimit. `races` is the race detector, where one has subscribed.
    """

    undefined: float = math.nan
    accesses: int = 0
    budget: float = math.inf
    races: RaceDetector | None = None

    def __post_init__(self) -> None:
        self.events = Subscriptions(self)

    def subscribe(self, *observers: Observer, first: bool = False) -> None:
        """Publish to these observers too; `first`, before all others."""
        self.events.add(*observers, first=first)

    def load(self, addresses: np.ndarray, mask: np.ndarray | None, other, dtype: np.dtype) -> np.ndarray:
        """Values at `addresses` (any shape) where `mask`; elsewhere `other`, or nothing in particular."""
        access = Access("load", addresses, mask, dtype)
        access.has_other = other is not None
        if self._points_into_several(access):
            values = self._background(addresses.shape, other, dtype)
            for part in access.by_tensor():
                part.has_other = True  # only the lanes of the whole access can be undefined
                values[part.lanes] = self._load(part, 0)[part.lanes]
        else:
            values = self._load(access, other)
        for publish in self.events.after_load:
            publish(access, values)
        return values

    def _load(self, access: Access, other) -> np.ndarray:
        self._resolve(access)
        shape, dtype, region = access.addresses.shape, access.dtype, access.region
        out = self._background(shape, other, dtype) if access.partial else None
        if region is None:
            return out if out is not None else np.zeros(shape, dtype)
        values = region.items(dtype)[access.index]
        access.units = region.units(access.index, dtype.itemsize)
        for publish in self.events.before_load:
            publish(access)
        if out is None:
            return values.reshape(shape)
        out[access.lanes] = values
        return out

    def store(self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray | None) -> None:
        """Put `values` (broadcast to the addresses' shape) where `mask`."""
        access = Access("store", addresses, mask, values.dtype)
        whole = self._points_into_several(access)
        for part in access.by_tensor() if whole else (access,):
            self._store(part, values)

    def _store(self, access: Access, values: np.ndarray) -> None:
        self._resolve(access)
        if access.region is None:
            return
        access.values = access.select(np.broadcast_to(values, access.addresses.shape))
        self._open(access)
        for publish in self.events.before_store:
            publish(access)
        access.items[access.index] = access.values
        self._close(access)

    def atomic(
        self,
        addresses: np.ndarray,
        mask: np.ndarray | None,
        dtype: np.dtype,
        update: Callable,
        orders: bool,
        adds: bool = False,
    ) -> np.ndarray:
        """Read, `update(items, index, lanes) -> old values`, write, as one step. Returns the old values.

        It `orders` what comes before and after if it acquires or releases, and `adds` if it is a sum.
        """
        access = Access("atomic", addresses, mask, dtype)
        access.orders, access.adds = orders, adds
        old = np.zeros(addresses.shape, dtype)
        several = self._points_into_several(access)
        for part in access.by_tensor() if several else (access,):
            self._atomic(part, update, old)
        return old

    def _atomic(self, access: Access, update: Callable, old: np.ndarray) -> None:
        self._resolve(access)
        if access.region is None:
            return
        self._open(access)
        if access.orders:
            for publish in self.events.on_synchronization:
                publish(access)
        for publish in self.events.before_atomic:
            publish(access)
        lanes = access.lanes if access.partial else np.ones(access.addresses.shape, bool)
        access.values = old[lanes] = update(access.items, access.index, lanes)
        self._close(access)

    # helpers

    def _points_into_several(self, access: Access) -> bool:
        """True if the lanes point into more than one known tensor, as `tl.where(c, x_ptr, y_ptr)` does."""
        flat = access.flat
        if flat.size < 2 or (int(flat.max()) - int(flat.min())) >> (REGION_BITS - 1) == 0:
            return False
        return all(int(index) in self.regions for index in np.unique(flat >> np.uint64(REGION_BITS)))

    def _resolve(self, access: Access) -> None:
        self.accesses += 1
        if self.accesses > self.budget:
            raise TimeLimit
        bounds.resolve(access, self)
        for publish in self.events.on_access:
            publish(access)

    def _open(self, access: Access) -> None:
        """Memory is about to change: keep what was there before the first kernel wrote."""
        region: Region = access.region
        if not region.written_in_launch:
            region.settle_reads()
            region.written_in_launch = True
            if region.before is None:
                region.before = region.memory.copy()
        access.units = region.units(access.index, access.itemsize)
        access.items = region.items(access.dtype)

    def _close(self, access: Access) -> None:
        """Memory has changed."""
        for publish in self.events.after_write:
            publish(access)
        access.region.stored[access.units] = True

    def _background(self, shape: tuple[int, ...], other, dtype: np.dtype) -> np.ndarray:
        if other is None:  # undefined on a GPU: NaN shows in every result that depends on it
            return np.full(shape, self.undefined, dtype) if dtype in FLOATS else np.zeros(shape, dtype)
        return np.array(np.broadcast_to(other, shape), dtype=dtype)
