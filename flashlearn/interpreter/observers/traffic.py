"""Traffic: the bytes that programs ask for, by tensor."""

from __future__ import annotations

import numpy as np

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.observer import LaunchStart, Observer
from flashlearn.interpreter.shadow import Region
from flashlearn.observation import Traffic

COUNTED_AS = {"load": "loaded", "store": "stored", "atomic": "atomic"}


class TrafficCounter(Observer):
    """Counts requested bytes as they are asked for; the unique ones are read off the shadows at the end.

    `only` has the one name of each storage. A storage whose tensors have several names, at once or one launch
    after the other, has "" there and shadows for each name: `touched` has the bytes that were loaded, and
    those that were stored, by region and name.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, Traffic] = {}
        self.only: dict[int, str] = {}
        self.touched: dict[tuple[int, str], dict[str, np.ndarray]] = {}

    def before_launch(self, launch: LaunchStart) -> None:
        """Notice the storages that have more than one name from here on."""
        for region in self.space.active:
            only = self.only.setdefault(region.index, region.name)
            if only and (len(region.views) > 1 or region.name != only):
                self.only[region.index] = ""
                region.settle_reads()
                before = {"load": region.loaded, "store": region.stored}
                self.touched[region.index, only] = {
                    kind: np.repeat(shadow, region.unit) for kind, shadow in before.items()
                }

    def on_access(self, access: Access) -> None:
        region = access.region
        if region is None:
            return
        name = self.only.get(region.index, region.name)
        if not name:
            held = region.views_of(access.index, access.itemsize)
            name = ", ".join(dict.fromkeys(view.name for view in held))
            self._touch(region, name, access)
        traffic = self.by_name.setdefault(name, Traffic())
        kind = COUNTED_AS[access.kind]
        setattr(traffic, kind, getattr(traffic, kind) + access.index.size * access.itemsize)

    def _touch(self, region: Region, name: str, access: Access) -> None:
        size = -(-region.nbytes // region.unit) * region.unit
        shadows = self.touched.setdefault(
            (region.index, name), {kind: np.zeros(size, bool) for kind in ("load", "store")}
        )
        if access.kind in shadows:
            whole = size // access.itemsize * access.itemsize
            shadows[access.kind][:whole].reshape(-1, access.itemsize)[access.index] = True

    def observation(self) -> dict[str, Traffic]:
        """Traffic by parameter name; tensors that the programs cannot have told apart share a row."""
        unique: dict[str, tuple[int, int]] = {}
        for region in list(self.space.by_storage.values()):
            name = self.only.get(region.index, "")
            if name:
                region.settle_reads()
                _add(unique, name, region.unit, region.loaded, region.stored)
        for (_, name), shadows in self.touched.items():
            _add(unique, name, 1, shadows["load"], shadows["store"])
        for name, traffic in self.by_name.items():
            traffic.unique_loaded, traffic.unique_stored = unique.get(name, (0, 0))
        return dict(self.by_name)


def _add(
    unique: dict[str, tuple[int, int]], name: str, unit: int, loaded: np.ndarray, stored: np.ndarray
) -> None:
    """Count the entries of two shadows; count_nonzero is much faster than the sum of booleans."""
    before = unique.get(name, (0, 0))
    unique[name] = (
        before[0] + int(np.count_nonzero(loaded)) * unit,
        before[1] + int(np.count_nonzero(stored)) * unit,
    )
