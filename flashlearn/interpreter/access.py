"""One access of a tile of addresses: what `Memory` hands to its observers."""

from __future__ import annotations

import numpy as np

from flashlearn.interpreter.shadow import REGION_BITS, Region


class Access:
    """A load, store or atomic: its addresses, its mask, and the lanes that take part.

    `kind` is "load", "store" or "atomic". `lanes` is the mask where some lanes are off, else None; `flat` are
    the addresses of the lanes that are on, [n], and `masked_out` counts those that are off. Once the bounds
    are checked, `region` is the memory they point into (None if no lane is on) and `index` the elements, [n],
    in items of `itemsize` bytes; `units` are their entries in the region's shadows, and `items` is the memory
    as items of the dtype. `values` are what a store writes, or what an atomic found, [n]. `has_other` is
    False for a load without `other=`; `orders` is True for an atomic that acquires or releases.
    """

    __slots__ = (
        "addresses", "dtype", "flat", "has_other", "index", "items", "itemsize", "kind", "lanes", "masked",
        "masked_out", "orders", "partial", "region", "units", "values",
    )  # fmt: skip

    def __init__(self, kind: str, addresses: np.ndarray, mask: np.ndarray | None, dtype: np.dtype):
        self.kind = kind
        self.addresses = addresses
        self.dtype = dtype
        self.itemsize = dtype.itemsize
        self.masked = mask is not None
        if mask is not None and mask.shape != addresses.shape:
            mask = np.broadcast_to(mask, addresses.shape)
        self.partial = mask is not None and not mask.all()
        self.lanes = mask if self.partial else None
        self.flat = addresses[mask] if self.partial else addresses.ravel()
        self.masked_out = addresses.size - self.flat.size
        self.region: Region | None = None
        self.has_other = True
        self.orders = False

    def select(self, values: np.ndarray) -> np.ndarray:
        """The values of the lanes that take part, in the order of `flat`."""
        return values[self.lanes] if self.partial else values.ravel()

    def by_tensor(self) -> list[Access]:
        """One access for each tensor that the lanes point into, as `tl.where(c, x_ptr, y_ptr)` has several.

        Lanes that the mask switches off are counted in the first one.
        """
        indices = self.addresses >> np.uint64(REGION_BITS)
        lanes = self.lanes if self.partial else np.ones(self.addresses.shape, bool)
        parts = []
        for index in np.unique(indices[lanes]):
            part = Access(self.kind, self.addresses, lanes & (indices == index), self.dtype)
            part.has_other, part.orders = self.has_other, self.orders
            part.masked_out = 0 if parts else self.masked_out
            parts.append(part)
        return parts
