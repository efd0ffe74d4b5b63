"""The tensors of a launch as virtual addresses, and the program that is running.

An observer knows a launch by its `AddressSpace`; the values move in flashlearn.interpreter.memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from flashlearn.interpreter.cautions import CautionLog
from flashlearn.interpreter.descriptors import DescriptorHandle
from flashlearn.interpreter.learner_code import Program, find_place
from flashlearn.interpreter.raw_pointers import NAME, RawPointers
from flashlearn.interpreter.shadow import Region, View
from flashlearn.observation import Place


@dataclass
class AddressSpace:
    """Regions by index and by storage, those of the running launch (`active`), and who is running.

    `place` gives the learner's line that is running. While a block pointer is followed, `boundary_check` are
    the dimensions that it checks; while a descriptor is, `descriptor` is that one.
    """

    regions: dict[int, Region] = field(default_factory=dict)
    by_storage: dict[int, Region] = field(default_factory=dict)
    active: list[Region] = field(default_factory=list)
    raw_pointers: RawPointers = field(default_factory=RawPointers)
    cautions: CautionLog = field(default_factory=CautionLog)
    place: Callable[[], Place | None] = find_place
    program: Program = (0, 0, 0)
    boundary_check: tuple[int, ...] | None = None
    descriptor: DescriptorHandle | None = None

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
        for name, tensor in [*tensors, *((NAME, kept) for kept in self.raw_pointers.tensors.values())]:
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
