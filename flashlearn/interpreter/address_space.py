"""The tensors of a launch as virtual addresses, an access to them, and the program that is running.

An observer knows a launch by its `AddressSpace`; the values move in flashlearn.interpreter.memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch

from flashlearn.interpreter.cautions import CautionLog
from flashlearn.interpreter.descriptors import DescriptorHandle
from flashlearn.interpreter.learner_code import Program, find_place
from flashlearn.interpreter.shadow import REGION_BITS, Region
from flashlearn.interpreter.views import RAW_POINTER_NAME, View
from flashlearn.observation import Place


class Access:
    """A load, store or atomic: its addresses, its mask, and the lanes that take part.

    `kind` is "load", "store" or "atomic". `lanes` is the mask where some lanes are off, else None; `flat` are
    the addresses of the lanes that are on, [n], and `masked_out` counts those that are off. Once the bounds
    are checked, `region` is the memory they point into (None if no lane is on) and `index` the elements, [n],
    in items of `itemsize` bytes; `units` are their entries in the region's shadows, and `items` is the memory
    as items of the dtype. `values` are what a store writes, or what an atomic found, [n]. `has_other` is
    False for a load without `other=`; `orders` is True for an atomic that acquires or releases, `adds` False
    for one that does not add.
    """

    __slots__ = (
        "addresses", "adds", "dtype", "flat", "has_other", "index", "items", "itemsize", "kind", "lanes",
        "masked", "masked_out", "orders", "partial", "region", "units", "values",
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
        self.adds = True

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
            part.has_other, part.orders, part.adds = self.has_other, self.orders, self.adds
            part.masked_out = 0 if parts else self.masked_out
            parts.append(part)
        return parts


@dataclass
class RawPointers:
    """Pointers kept in tensors: `x.data_ptr()` in the launcher, in the kernel a number made a pointer again.

    `tensors` are those whose addresses were asked for, each view once: the next launches may use them. In a
    kernel a tensor's address is another one, as all addresses there; `virtual` exchanges them.
    """

    tensors: dict[tuple, torch.Tensor] = field(default_factory=dict)

    def note(self, tensor: torch.Tensor) -> None:
        """This tensor's address was asked for."""
        if tensor.device.type == "cpu" and tensor.layout is torch.strided and tensor.numel():
            key = (tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.shape, tensor.stride())
            self.tensors[key] = tensor

    def virtual(self, addresses: np.ndarray, base_of: Callable[[torch.Tensor], int]) -> np.ndarray:
        """Addresses in which those of real memory are exchanged for the kernel's; `base_of` a storage."""
        out = addresses
        for tensor in self.tensors.values():
            storage = tensor.untyped_storage()
            first = np.uint64(storage.data_ptr())
            inside = (addresses >= first) & (addresses < first + np.uint64(storage.nbytes()))
            if inside.any():
                out = np.where(inside, addresses - first + np.uint64(base_of(tensor)), out)
        return out


@dataclass
class AddressSpace:
    """Regions by index and by storage, those of the running launch (`active`), and who is running.

    `place` gives the learner's line that is running, `program` is one of the `grid`. While a block pointer is
    followed, `boundary_check` are the dimensions that it checks; while a descriptor is, `descriptor` is that
    one. Where nobody will read it, nothing `explains` an access out of bounds: that takes longer than to
    find it.
    """

    regions: dict[int, Region] = field(default_factory=dict)
    by_storage: dict[int, Region] = field(default_factory=dict)
    active: list[Region] = field(default_factory=list)
    raw_pointers: RawPointers = field(default_factory=RawPointers)
    cautions: CautionLog = field(default_factory=CautionLog)
    place: Callable[[], Place | None] = find_place
    program: Program = (0, 0, 0)
    grid: Program = (1, 1, 1)
    boundary_check: tuple[int, ...] | None = None
    descriptor: DescriptorHandle | None = None
    explains: bool = True

    def region_of(self, tensor: torch.Tensor) -> Region:
        """The region of a CPU tensor's storage, made on first sight and kept for the session."""
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.by_storage:
            region = Region(len(self.by_storage) + 1, storage, tensor.element_size())
            self.by_storage[key] = self.regions[region.index] = region
        return self.by_storage[key]

    def known_region(self, tensor: torch.Tensor) -> Region | None:
        """The region of a tensor that a launch has used, else None; sparse and nested tensors have none."""
        ordinary = tensor.layout is torch.strided and not tensor.is_nested
        return self.by_storage.get(tensor.untyped_storage()._cdata) if ordinary else None

    def admit(self, tensors: list[tuple[str, torch.Tensor]]) -> dict[str, int]:
        """Let a launch use these tensors, by parameter name; return their virtual addresses."""
        views: dict[int, list[View]] = {}
        addresses = {}
        for name, tensor in [
            *tensors,
            *((RAW_POINTER_NAME, kept) for kept in self.raw_pointers.tensors.values()),
        ]:
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
        return addresses

    def dismiss(self) -> None:
        """Bring the shadows up to date and let no address of the launch be valid any more."""
        for region in self.active:
            region.settle_reads()
            region.views = []
            if region.written_in_launch:
                region.left = region.memory.copy()
        self.active = []

    @contextmanager
    def following(
        self,
        boundary_check: tuple[int, ...] | None = None,
        descriptor: DescriptorHandle | None = None,
    ) -> Iterator[None]:
        """A block pointer is followed, with these dimensions in its boundary_check; or a descriptor."""
        self.boundary_check, self.descriptor = boundary_check, descriptor
        try:
            yield
        finally:
            self.boundary_check = self.descriptor = None
