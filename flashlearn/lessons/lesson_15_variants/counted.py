"""Bytes that each kernel of a call requests, by tensor, counted in an observed run.

>>> loaded(sliding_window, q, k, v, do, 64, 0.25)["hooked_forward_kernel"]["k"]
65536
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.observer import LaunchStart, Observer
from flashlearn.interpreter.route import observing

PARTS = {"hooked_forward_kernel": "forward", "hooked_dq_kernel": "dQ", "hooked_dkv_kernel": "dK, dV"}
"""What the kernels of the pair compute, by their names."""


class Loads(Observer):
    """Requested bytes, by kernel and tensor; what a mask hides is not requested."""

    def __init__(self) -> None:
        self.kernel = ""
        self.bytes: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))

    def before_launch(self, launch: LaunchStart) -> None:
        self.kernel = launch.function.__name__

    def on_access(self, access: Access) -> None:
        if access.region is not None and access.kind == "load":
            held = access.region.views_of(access.index, access.itemsize)
            tensor = held[0].name.removesuffix("_ptr")
            self.bytes[self.kernel][tensor] += access.index.size * access.itemsize


def loaded(function: Callable, *arguments: Any) -> dict[str, dict[str, int]]:
    """Bytes that the forward pass, dQ and dK, dV request, by tensor."""
    loads = Loads()
    with observing(observers=(loads,)):
        function(*arguments)
    return {PARTS[kernel]: dict(found) for kernel, found in loads.bytes.items() if kernel in PARTS}
