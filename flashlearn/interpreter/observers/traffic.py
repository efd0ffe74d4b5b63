"""Traffic: the bytes that programs ask for, by tensor."""

from __future__ import annotations

import numpy as np

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.observer import Observer
from flashlearn.observation import Traffic

COUNTED_AS = {"load": "loaded", "store": "stored", "atomic": "atomic"}


class TrafficCounter(Observer):
    """Counts requested bytes as they are asked for; the unique ones are read off the shadows at the end."""

    def __init__(self) -> None:
        self.by_name: dict[str, Traffic] = {}

    def on_access(self, access: Access) -> None:
        if access.region is None:
            return
        traffic = self.by_name.setdefault(access.region.views[0].name, Traffic())
        kind = COUNTED_AS[access.kind]
        setattr(traffic, kind, getattr(traffic, kind) + access.index.size * access.itemsize)

    def observation(self) -> dict[str, Traffic]:
        """Traffic by parameter name."""
        unique: dict[str, tuple[int, int]] = {}
        for region in list(self.space.by_storage.values()):
            region.settle_reads()
            loaded, stored = unique.get(region.name, (0, 0))
            loaded += int(np.count_nonzero(region.loaded)) * region.unit  # much faster than sum() of booleans
            stored += int(np.count_nonzero(region.stored)) * region.unit
            unique[region.name] = (loaded, stored)
        for name, traffic in self.by_name.items():
            traffic.unique_loaded, traffic.unique_stored = unique.get(name, (0, 0))
        return dict(self.by_name)
