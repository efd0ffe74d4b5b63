"""Traffic: the bytes that programs ask for, by tensor."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import numpy as np

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.observer import LaunchStart, Observer
from flashlearn.interpreter.shadow import Region
from flashlearn.observation import Traffic

COUNTED_AS = {"load": "loaded", "store": "stored", "atomic": "atomic"}


@dataclass(eq=False)
class Touched:
    """The bytes of a storage that were loaded, and those that were stored or added to, under these names."""

    names: tuple[str, ...]
    loaded: np.ndarray
    stored: np.ndarray

    def meets(self, other: Touched) -> bool:
        """True if some byte is in both: then the names are those of one tensor."""
        mine, others = self.loaded | self.stored, other.loaded | other.stored
        return bool((mine & others).any())

    def __or__(self, other: Touched) -> Touched:
        return Touched(self.names + other.names, self.loaded | other.loaded, self.stored | other.stored)


class TrafficCounter(Observer):
    """Counts requested bytes as they are asked for; the unique ones are read off the shadows at the end.

    `only` has the one name of each storage. A storage whose tensors have several names, at once or one launch
    after the other, has "" there and shadows for each name: `touched` has them by region and names.
    """

    def __init__(self) -> None:
        self.requested: dict[tuple[int, str], Traffic] = {}
        self.only: dict[int, str] = {}
        self.touched: dict[tuple[int, str], Touched] = {}

    def before_launch(self, launch: LaunchStart) -> None:
        """Notice the storages that have more than one name from here on."""
        for region in self.space.active:
            only = self.only.setdefault(region.index, region.name)
            if only and (len(region.views) > 1 or region.name != only):
                self.only[region.index] = ""
                self.touched[region.index, only] = _whole(region, only)

    def on_access(self, access: Access) -> None:
        region = access.region
        if region is None:
            return
        name = self.only.get(region.index, region.name)
        if not name:
            held = region.views_of(access.index, access.itemsize)
            name = ", ".join(dict.fromkeys(view.name for view in held))
            self._touch(region, name, access)
        traffic = self.requested.setdefault((region.index, name), Traffic())
        kind = COUNTED_AS[access.kind]
        setattr(traffic, kind, getattr(traffic, kind) + access.index.size * access.itemsize)

    def _touch(self, region: Region, name: str, access: Access) -> None:
        nothing = Touched((name,), np.zeros(region.nbytes, bool), np.zeros(region.nbytes, bool))
        touched = self.touched.setdefault((region.index, name), nothing)
        shadow = touched.loaded if access.kind == "load" else touched.stored
        whole = region.nbytes // access.itemsize * access.itemsize
        shadow[:whole].reshape(-1, access.itemsize)[access.index] = True

    def by_name(self) -> dict[str, Traffic]:
        """Traffic by parameter name; tensors that the programs cannot have told apart share a row."""
        rows: dict[str, Traffic] = {}
        for (index, name), requested in self.requested.items():
            _add(rows, name, [requested], self._touched(index, name))
        return rows

    def by_tensor(self) -> dict[str, Traffic]:
        """Traffic by tensor: one with several names, in one launch or one after the other, has one row."""
        rows: dict[str, Traffic] = {}
        for index, tensors in self._tensors().items():
            for one in tensors:
                name = ", ".join(dict.fromkeys(", ".join(one.names).split(", ")))
                _add(rows, name, [self.requested[index, name] for name in one.names], one)
        return rows

    def _tensors(self) -> dict[int, list[Touched]]:
        """By storage what was touched there: names that have a byte in common are put together."""
        found: dict[int, list[Touched]] = {}
        for index, name in self.requested:
            tensors, joined = found.get(index, []), self._touched(index, name)
            same = [one for one in tensors if one.meets(joined)]
            joined = functools.reduce(operator.or_, [*same, joined])
            found[index] = [*(one for one in tensors if one not in same), joined]
        return found

    def _touched(self, index: int, name: str) -> Touched:
        if (index, name) not in self.touched:
            return _whole(self.space.regions[index], name)
        return self.touched[index, name]


def _whole(region: Region, name: str) -> Touched:
    """What was touched of a storage so far, all under one name."""
    region.settle_reads()
    loaded, stored = (np.repeat(one, region.unit)[: region.nbytes] for one in (region.loaded, region.stored))
    return Touched((name,), loaded, stored)


def _add(rows: dict[str, Traffic], name: str, requested: list[Traffic], touched: Touched) -> None:
    """Add to a row; count_nonzero is much faster than the sum of booleans."""
    row = rows.setdefault(name, Traffic())
    for one in requested:
        row.loaded += one.loaded
        row.stored += one.stored
        row.atomic += one.atomic
    row.unique_loaded += int(np.count_nonzero(touched.loaded))
    row.unique_stored += int(np.count_nonzero(touched.stored))
