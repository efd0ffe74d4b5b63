"""One storage as the programs of a launch see it: its bytes, and what is known of each element.

Every tensor that a launch receives gets a *virtual* base address, regions 2^48 bytes apart. A
pointer therefore tells by itself which tensor it was made from and how far it has strayed, and no
address that a kernel computes is ever a real one.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.lib.stride_tricks import as_strided

from flashlearn.interpreter.views import View, holders

REGION_BITS = 48
MIDDLE = 1 << (REGION_BITS - 1)  # a region's first byte lies here, so that negative offsets stay inside


class Region:
    """A storage and its shadows; every shadow has one entry per `unit` bytes.

    `writer`, `atomic` and `reader` hold the number of the program segment that touched the element
    last (numbers grow over the whole session, so an old launch is simply a smaller number).
    """

    def __init__(self, index: int, storage: torch.UntypedStorage, unit: int):
        self.index = index
        self.name = ""
        self.base = (index << REGION_BITS) + MIDDLE
        self.storage = storage
        self.nbytes = storage.nbytes()
        self.memory = _bytes_of(storage)
        self.unit = unit
        units = -(-self.nbytes // unit)
        self.writer = np.zeros(units, np.int64)
        self.atomic = np.zeros(units, np.int64)
        self.reader = np.zeros(units, np.int64)
        self.loaded = np.zeros(units, bool)
        self.stored = np.zeros(units, bool)
        self.unwritten: np.ndarray | None = None
        self.before: np.ndarray | None = None  # the bytes as they were when a kernel first wrote here
        self.left: np.ndarray | None = None  # the bytes as the last launch that wrote here left them
        self.views: list[View] = []
        self.low, self.high, self.valid = 0, 0, None
        self.pending: list[tuple[np.ndarray, int, int]] = []
        self.pending_lanes = 0
        self.launch_start = 1
        self.written_in_launch = False
        self.added_only = True  # no atomic of the launch did anything but add

    def set_views(self, views: list[View]) -> None:
        """Give the region the windows that the current launch may touch."""
        self.views = views
        self.name = views[0].name
        self.refine(min(v.itemsize for v in views))
        self.low = min(v.interval()[0] for v in views)
        self.high = max(v.interval()[1] for v in views)
        self.valid = None
        if not (len(views) == 1 and views[0].dense):
            self.valid = self._valid_bytes(views)

    def _valid_bytes(self, views: list[View]) -> np.ndarray | None:
        valid = np.zeros(self.nbytes, bool)
        for v in views:
            low, high = v.interval()
            if not 0 <= low <= high <= self.nbytes:
                raise ValueError(f"{v.name} reaches beyond its own storage")
            strides = (*(s * v.itemsize for s in v.strides), 1)
            window = as_strided(valid[low:], (*v.shape, v.itemsize), strides)
            window[...] = True
        return None if valid[self.low : self.high].all() else valid

    def refine(self, unit: int) -> None:
        """Make the shadows as fine as `unit` bytes, if they are coarser."""
        if unit >= self.unit:
            return
        ratio = self.unit // unit
        for name in ("writer", "atomic", "reader", "loaded", "stored"):
            setattr(self, name, np.repeat(getattr(self, name), ratio))
        if self.unwritten is not None:
            self.unwritten = np.repeat(self.unwritten, ratio)
        self.pending = [(self._finer(index, ratio), *who) for index, *who in self.pending]
        self.unit = unit

    @staticmethod
    def _finer(index: np.ndarray, ratio: int) -> np.ndarray:
        return (index[:, None] * ratio + np.arange(ratio)).ravel()

    def units(self, index: np.ndarray, itemsize: int) -> np.ndarray:
        """Shadow entries of the elements `index`, counted in items of `itemsize` bytes."""
        self.refine(itemsize)
        ratio = itemsize // self.unit
        return index if ratio == 1 else self._finer(index, ratio)

    def items(self, dtype: np.dtype) -> np.ndarray:
        """The storage as items of a NumPy dtype."""
        whole = self.nbytes // dtype.itemsize * dtype.itemsize
        return self.memory[:whole].view(dtype)

    def views_of(self, index: np.ndarray, itemsize: int) -> list[View]:
        """The tensors of the launch that have these elements: of parts of a buffer, those that are meant."""
        return self.views if len(self.views) == 1 else holders(self.views, index, itemsize)

    def view_at(self, byte: int) -> View:
        """The tensor that has the element at this byte."""
        return self.views_of(np.array([byte]), 1)[0]

    def note_read(self, index: np.ndarray, segment: int, program_start: int) -> None:
        """Remember a read; the shadows are brought up to date only when a program writes, or at the end."""
        if self.written_in_launch:
            self._mark_read(index, segment, program_start)
            return
        self.pending.append((index, segment, program_start))
        self.pending_lanes += index.size
        if self.pending_lanes > 1 << 22:
            self.settle_reads()

    def settle_reads(self) -> None:
        """Write the reads that were only noted so far into the `reader` and `loaded` shadows."""
        for index, segment, program_start in self.pending:
            self._mark_read(index, segment, program_start)
        self.pending.clear()
        self.pending_lanes = 0

    def _mark_read(self, index: np.ndarray, segment: int, program_start: int) -> None:
        before = self.reader[index]
        in_launch = np.abs(before) >= self.launch_start
        several = in_launch & ((before < 0) | (before < program_start))
        self.reader[index] = np.where(several, -segment, segment)  # negative: read by several programs
        self.loaded[index] = True


def _bytes_of(storage: torch.UntypedStorage) -> np.ndarray:
    if storage.nbytes() == 0:
        return np.zeros(0, np.uint8)
    whole = torch.empty(0, dtype=torch.uint8).set_(storage)
    return whole.numpy()
