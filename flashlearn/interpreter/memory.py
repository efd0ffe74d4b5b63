"""The memory that programs see: virtual addresses, checked before anything happens.

Every load, store and atomic of an observed launch goes through `Memory`. Addresses are tested
against the tensors' windows first; then values move by NumPy indexing inside the tensor's own
storage, so that no address a kernel computes can reach anything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from flashlearn.interpreter.access import Access, find_place, stray
from flashlearn.interpreter.cautions import UNINITIALISED, CautionLog
from flashlearn.interpreter.errors import NeedsGpu, TimeLimit
from flashlearn.interpreter.low_precision import FLOATS
from flashlearn.interpreter.observation import Traffic
from flashlearn.interpreter.observers.missing_barriers import Scratch
from flashlearn.interpreter.observers.races import RaceDetector
from flashlearn.interpreter.raw_pointers import NAME, RawPointers
from flashlearn.interpreter.shadow import REGION_BITS, Region, View
from flashlearn.interpreter.spin_waits import SpinWaits
from flashlearn.outcome import Place

if TYPE_CHECKING:
    from flashlearn.interpreter.descriptors import DescriptorHandle


class Recorder(Protocol):
    """Who wants to be told of every access, one by one; ordinary checks have none."""

    def begin_launch(self, function: Callable, grid: tuple[int, int, int], arguments: dict[str, Any]) -> None:
        """The launch of a kernel begins; `arguments` are by parameter name."""

    def split(self, access: Access) -> None:
        """The lanes of `access` point into several tensors: a `note` for each of them follows."""

    def note(self, access: Access, region: Region | None, index: np.ndarray, memory: Memory) -> None:
        """An access in bounds: `index` are its elements, in items of the storage; no region, no lanes."""


@dataclass
class Memory:
    """Regions by index, who is running, and what has been seen since the session began."""

    regions: dict[int, Region] = field(default_factory=dict)
    by_storage: dict[int, Region] = field(default_factory=dict)
    traffic: dict[str, Traffic] = field(default_factory=dict)
    races: RaceDetector = field(default_factory=RaceDetector)
    cautions: CautionLog = field(default_factory=CautionLog)
    scratch: Scratch = field(default_factory=Scratch)
    undefined: float = math.nan
    undefined_loads: list[tuple[str, Place | None]] = field(default_factory=list)
    place: Callable[[], object] = find_place
    program: tuple[int, int, int] = (0, 0, 0)
    active: list[Region] = field(default_factory=list)
    recorder: Recorder | None = None
    turns: SpinWaits = field(default_factory=SpinWaits)
    kept: RawPointers = field(default_factory=RawPointers)
    accesses: int = 0
    most: float = math.inf  # so many accesses, then TimeLimit
    checked: tuple[int, ...] | None = None  # while a block pointer is followed
    described: DescriptorHandle | None = None  # while a descriptor is

    def region_of(self, tensor: torch.Tensor) -> Region:
        """The region of a CPU tensor's storage, made on first sight and kept for the session."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.by_storage:
            region = Region(len(self.by_storage) + 1, storage, tensor.element_size())
            self.by_storage[key] = self.regions[region.index] = region
        return self.by_storage[key]

    def begin_launch(self, tensors: list[tuple[str, torch.Tensor]]) -> dict[str, int]:
        """Admit the tensors of a launch by parameter name; return their virtual addresses."""
        views: dict[int, list[View]] = {}
        addresses = {}
        for name, tensor in [*tensors, *((NAME, kept) for kept in self.kept.tensors.values())]:
            region = self.region_of(tensor)
            view = View(
                name, tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), tensor.element_size()
            )
            views.setdefault(region.index, []).append(view)
            addresses[name] = region.base + view.offset * view.itemsize
        self.active = [self.regions[index] for index in views]
        for region in self.active:
            region.set_views(views[region.index])
            region.written_in_launch = False
            region.launch_start = self.races.next_segment
        self.races.begin_launch()
        return addresses

    def end_launch(self) -> None:
        """Bring the shadows up to date and let no address of this launch be valid any more."""
        for region in self.active:
            region.settle_reads()
            region.views = []
            if region.written_in_launch:
                region.left = region.memory.copy()
        self.active = []

    def begin_program(self, program: tuple[int, int, int], number: int) -> None:
        """`program`, the `number`-th of its grid, runs from here on."""
        self.program = program
        self.scratch.forget()
        self.races.begin_program(program, number)

    @contextmanager
    def following(
        self, checked: tuple | None = None, described: DescriptorHandle | None = None
    ) -> Iterator[None]:
        """A block pointer is followed, with these dimensions in its boundary_check; or a descriptor."""
        self.checked, self.described = checked, described
        try:
            yield
        finally:
            self.checked = self.described = None

    # the three kinds of access

    def load(self, addresses: np.ndarray, mask: np.ndarray | None, other, dtype: np.dtype) -> np.ndarray:
        """Values at `addresses` (any shape) where `mask`; elsewhere `other`, or nothing in particular."""
        access = Access("load", addresses, mask, dtype)
        if self._several(access):
            return self._load_each(access, other, dtype)
        region, index = self._resolve(access)
        out = self._background(addresses.shape, other, dtype) if access.partial else None
        if access.partial and other is None and dtype in FLOATS and region is not None:
            self._note_undefined(region)
        if region is None:
            return out if out is not None else np.zeros(addresses.shape, dtype)
        values = region.items(dtype)[index]
        units = region.units(index, dtype.itemsize)
        self._count(region, index.size * dtype.itemsize, "loaded")
        if region.unwritten is not None and region.unwritten[units].any():
            self._note_unwritten(region, units, "reads")
        self.races.check_load(region, units, self)
        if self.scratch.stores:
            self.scratch.check_load(region, dtype.itemsize, index, addresses, self)
        region.note_read(units, self.races.segment, self.races.program_start)
        if out is None:
            return values.reshape(addresses.shape)
        out[access.lanes] = values
        return out

    def store(self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray | None) -> None:
        """Put `values` (broadcast to the addresses' shape) where `mask`."""
        access = Access("store", addresses, mask, values.dtype)
        if self._several(access):
            for lanes in _by_region(access):
                self.store(addresses, values, lanes)
            return
        region, index = self._resolve(access)
        if region is None:
            return
        values = access.select(np.broadcast_to(values, addresses.shape))
        self.turns.acted = True
        units = self._begin_write(region, index, values.dtype.itemsize, "stored")
        items = region.items(values.dtype)
        self.races.check_store(region, units, items, index, values, self)
        items[index] = values
        self._end_write(region, units)
        region.writer[units] = self.races.segment
        self.scratch.note_store(region, values.dtype.itemsize, index, addresses)

    def atomic(self, addresses: np.ndarray, mask: np.ndarray | None, dtype: np.dtype, update, sync: bool):
        """Read, `update(items, index, lanes) -> old values`, write, as one step. Returns the old values."""
        access = Access("atomic", addresses, mask, dtype)
        old = np.zeros(addresses.shape, dtype)
        if self._several(access):
            for lanes in _by_region(access):
                old[lanes] = self.atomic(addresses, lanes, dtype, update, sync)[lanes]
            return old
        region, index = self._resolve(access)
        if region is None:
            return old
        units = self._begin_write(region, index, dtype.itemsize, "atomic")
        if sync:
            self.scratch.forget()
        if sync and index.size == 1:
            self.races.synchronise(region.index, int(index[0]))
        if region.unwritten is not None and region.unwritten[units].any():
            self._note_unwritten(region, units, "updates atomically")
        self.races.check_atomic(region, units, self)
        lanes = access.lanes if access.partial else np.ones(addresses.shape, bool)
        items = region.items(dtype)
        old[lanes] = update(items, index, lanes)
        if index.size == 1 and items[index].tobytes() == old[lanes].tobytes():
            self._ask_again(region, int(index[0]), dtype.itemsize)
        else:
            self.turns.acted = True
        self._end_write(region, units)
        region.atomic[units] = self.races.segment
        return old

    # helpers

    def _ask_again(self, region: Region, index: int, itemsize: int) -> None:
        """An atomic left an element as it was: one more look at what somebody else may change."""
        if not self.turns.waits((region.index, index)):
            return
        view = region.views[0]
        at = ", ".join(str(i) for i in view.coordinates(index * itemsize))
        raise NeedsGpu(
            f"Program ({', '.join(str(i) for i in self.program)}) waits until another one changes "
            f"{view.name}[{at}]. Here programs run one after another, and one that has written something "
            "cannot stand back for those behind it; on a GPU they run side by side. This kernel needs a GPU "
            "to be judged.",
            self.place(),
        )

    def _several(self, access: Access) -> bool:
        """True if the lanes point into more than one known tensor, as `tl.where(c, x_ptr, y_ptr)` does."""
        flat = access.flat
        if flat.size < 2 or (int(flat.max()) - int(flat.min())) >> (REGION_BITS - 1) == 0:
            return False
        several = all(int(index) in self.regions for index in np.unique(flat >> np.uint64(REGION_BITS)))
        if several and self.recorder is not None:
            self.recorder.split(access)
        return several

    def _load_each(self, access: Access, other, dtype: np.dtype) -> np.ndarray:
        out = self._background(access.addresses.shape, other, dtype)
        for lanes in _by_region(access):
            out[lanes] = self.load(access.addresses, lanes, 0, dtype)[lanes]
        return out

    def _resolve(self, access: Access) -> tuple[Region | None, np.ndarray]:
        flat = access.flat
        self.accesses += 1
        if self.accesses > self.most:
            raise TimeLimit
        if flat.size == 0:
            if self.recorder is not None:
                self.recorder.note(access, None, flat, self)
            return None, flat
        region = self.regions.get(int(flat[0]) >> REGION_BITS)
        if region is None or not region.views:
            raise stray(access, None, flat, self)
        offset = (flat - np.uint64(region.base)).view(np.int64)
        low, high = int(offset.min()), int(offset.max()) + access.itemsize
        inside = low >= region.low and high <= region.high
        if not inside or (region.valid is not None and not region.valid[offset].all()):
            raise stray(access, region, offset, self)
        if access.itemsize > 1 and (offset & (access.itemsize - 1)).any():
            raise stray(access, region, offset, self, misaligned=True)
        index = offset // access.itemsize
        if self.recorder is not None:
            self.recorder.note(access, region, index, self)
        return region, index

    def _count(self, region: Region, size: int, kind: str) -> None:
        traffic = self.traffic.setdefault(region.views[0].name, Traffic())
        setattr(traffic, kind, getattr(traffic, kind) + size)

    def _begin_write(self, region: Region, index: np.ndarray, itemsize: int, kind: str) -> np.ndarray:
        if not region.written_in_launch:
            region.settle_reads()
            region.written_in_launch = True
            if region.before is None:
                region.before = region.memory.copy()
        self._count(region, index.size * itemsize, kind)
        return region.units(index, itemsize)

    def _end_write(self, region: Region, units: np.ndarray) -> None:
        region.stored[units] = True
        if region.unwritten is not None:
            region.unwritten[units] = False

    def _background(self, shape: tuple[int, ...], other, dtype: np.dtype) -> np.ndarray:
        if other is None:  # undefined on a GPU: NaN shows in every result that depends on it
            return np.full(shape, self.undefined, dtype) if dtype in FLOATS else np.zeros(shape, dtype)
        return np.array(np.broadcast_to(other, shape), dtype=dtype)

    def _note_undefined(self, region: Region) -> None:
        if all(name != region.views[0].name for name, _ in self.undefined_loads):
            self.undefined_loads.append((region.views[0].name, self.place()))

    def _note_unwritten(self, region: Region, units: np.ndarray, verb: str) -> None:
        name = region.views[0].name
        first = int(units[np.argmax(region.unwritten[units])]) * region.unit
        at = ", ".join(str(i) for i in region.views[0].coordinates(first))
        sentence = (
            f"The kernel {verb} {name}[{at}], where nobody has written yet: the launcher allocated {name} "
            "with torch.empty, which leaves whatever was in that memory before. Use torch.zeros, or write "
            "before you read."
        )
        self.cautions.add(UNINITIALISED, sentence, self.place())


def _by_region(access: Access) -> list[np.ndarray]:
    """One mask per tensor that the lanes point into."""
    indices = access.addresses >> np.uint64(REGION_BITS)
    lanes = access.lanes if access.partial else np.ones(access.addresses.shape, bool)
    return [lanes & (indices == index) for index in np.unique(indices[lanes])]
