"""Undefined values: lanes that a mask hides without `other=`, and memory that was never written."""

from __future__ import annotations

import torch

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.cautions import UNINITIALISED
from flashlearn.interpreter.learner_code import runs_in_course
from flashlearn.interpreter.low_precision import FLOATS
from flashlearn.interpreter.observer import Observer
from flashlearn.observation import Place

VERBS = {"load": "reads", "atomic": "atomically updates"}


class UndefinedLanes(Observer):
    """The first masked load without `other=` of each tensor."""

    def __init__(self) -> None:
        self.loads: list[tuple[str, Place | None]] = []

    def before_load(self, access: Access) -> None:
        if access.has_other or not access.partial or access.dtype not in FLOATS:
            return
        tensor = access.region.views_of(access.index, access.itemsize)[0].name
        if all(name != tensor for name, _ in self.loads):
            self.loads.append((tensor, self.space.place()))

    def observation(self) -> list[tuple[str, Place | None]]:
        """Tensor and line of each."""
        return list(self.loads)


class UninitializedMemory(Observer):
    """Reads of memory from torch.empty that no program and no torch operation has written.

    What the course's launchers allocate is theirs to fill: a learner who hands them a list of too few blocks
    can change nothing about it.
    """

    def on_allocation(self, tensor: torch.Tensor) -> None:
        if runs_in_course():
            return
        region = self.space.region_of(tensor)
        region.unwritten = torch.ones(len(region.stored), dtype=torch.bool).numpy()

    def on_torch_operation(self, name: str, inputs: list, outputs: list, written: list) -> None:
        for tensor in written:
            region = self.space.known_region(tensor)
            if region is not None:
                region.unwritten = None

    def before_load(self, access: Access) -> None:
        unwritten = access.region.unwritten
        if unwritten is None:
            return
        missing = unwritten[access.units]
        if missing.any():
            self._caution(access, int(access.units[missing.argmax()]))

    before_atomic = before_load

    def after_write(self, access: Access) -> None:
        if access.region.unwritten is not None:
            access.region.unwritten[access.units] = False

    def _caution(self, access: Access, unit: int) -> None:
        region = access.region
        view = region.view_at(unit * region.unit)
        name, at = view.name, ", ".join(str(i) for i in view.coordinates(unit * region.unit))
        allocated = name if len(region.views) == 1 else f"the memory of {name}"
        sentence = (
            f"The kernel {VERBS[access.kind]} {name}[{at}], where nothing was written yet: the launcher "
            f"allocated {allocated} with torch.empty, which leaves whatever was in that memory before. "
            "Should it be 0 from the start, be written before this line reads it, or not be read here?"
        )
        self.space.cautions.add(UNINITIALISED, sentence, self.space.place())
