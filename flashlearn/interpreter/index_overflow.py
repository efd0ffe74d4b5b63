"""A launch at sizes that no laptop holds: do its offsets still fit into 32 bits?

    >>> error, overflows = attempt(lambda: flash_forward(q, k, v, 0.1))     # q, k, v on "meta"

The launcher gets tensors without memory whose strides are those of the real sizes. The first and the last
program run; addresses are computed and checked against the tensors' bounds, loads give zeros, stores go
nowhere. A kernel fails here only if it leaves a tensor with 32-bit integers that wrap round, as a GPU's do,
and stays inside with integers that do not: anything else that happens proves nothing, and is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import triton.language as tl

from flashlearn.interpreter.address_space import Access
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.interpreter.language import scalar
from flashlearn.interpreter.loop_types import Carries
from flashlearn.interpreter.memory import Memory
from flashlearn.interpreter.observers.int32_overflow import Int32Overflows
from flashlearn.interpreter.route import apart
from flashlearn.interpreter.session import Session
from flashlearn.interpreter.shadow import MIDDLE, REGION_BITS
from flashlearn.interpreter.views import View
from flashlearn.observation import Place

SECONDS = 5.0


def spread(inputs: dict[str, Any], sizes: dict[str, int], heads_outermost: bool = False) -> dict[str, Any]:
    """Inputs of a small case with tensors without memory, [B, H, S, D] with the strides of `sizes`.

    B, H and D are the real ones, S is the small case's, so that no loop gets longer. With `heads_outermost`
    they are [H, B, S, D] in memory. Tensors of three dimensions are [B, H, S] without gaps, of one [H]; what
    is no such tensor stays as it is.
    """
    batch, heads, width = sizes["B"], sizes["H"], sizes["D"]
    few = {v.shape[1] for v in inputs.values() if isinstance(v, torch.Tensor) and v.ndim == 4}
    far: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.ndim == 4:
            row = sizes["S"] * width
            outer = (row, batch * row) if heads_outermost else (heads * row, row)
            shape, strides = (batch, heads, value.shape[2], width), (*outer, width, 1)
            far[name] = torch.empty_strided(shape, strides, dtype=value.dtype, device="meta")
        elif isinstance(value, torch.Tensor) and value.ndim == 3:
            far[name] = torch.empty((batch, heads, value.shape[2]), dtype=value.dtype, device="meta")
        elif isinstance(value, torch.Tensor) and value.ndim == 1 and len(value) in few:
            far[name] = torch.empty(heads, dtype=value.dtype, device="meta")
        else:
            far[name] = value
    return far


def with_strides(inputs: dict[str, Any], strides: tuple[int, int]) -> dict[str, Any]:
    """The inputs with tensors without memory: matrices with these strides, all others without gaps."""
    far: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, torch.Tensor) and value.ndim == 2:
            far[name] = torch.empty_strided(value.shape, strides, dtype=value.dtype, device="meta")
        elif isinstance(value, torch.Tensor):
            far[name] = torch.empty(value.shape, dtype=value.dtype, device="meta")
        else:
            far[name] = value
    return far


def attempt(
    launch: Callable[[], Any], wide: bool = False, limit: float = SECONDS
) -> tuple[BaseException | None, list[tuple[int, Place | None]]]:
    """What ended the launches, and the values that passed 2³¹, with their lines.

    `launch` calls the launcher with tensors on the device "meta". With `wide` integer arguments have 64 bits.
    """
    session, found = _WideSession() if wide else _FarSession(), Int32Overflows()
    session.memory.subscribe(found)
    try:
        with apart(session=session), deadline(limit):
            launch()
    except KeyboardInterrupt:
        raise
    except (Exception, TimeLimit, SystemExit) as error:
        return error, found.found
    return None, found.found


@dataclass
class _Far:
    """A storage without memory: where it begins, and how far its views reach."""

    index: int
    storage: torch.UntypedStorage
    views: list[View] = field(default_factory=list)
    low: int = 0
    high: int = 0
    valid: None = None
    written_in_launch: bool = False
    launch_start: int = 0

    @property
    def base(self) -> int:
        return (self.index << REGION_BITS) + MIDDLE

    def set_views(self, views: list[View]) -> None:
        self.views = views
        self.low = min(view.interval()[0] for view in views)
        self.high = max(view.interval()[1] for view in views)

    def settle_reads(self) -> None:
        """Nothing is remembered."""


class _FarMemory(Memory):
    """Memory that checks bounds and holds nothing."""

    def region_of(self, tensor: torch.Tensor) -> Any:
        storage = tensor.untyped_storage()
        if storage._cdata not in self.by_storage:
            far = _Far(len(self.by_storage) + 1, storage)
            self.by_storage[storage._cdata] = self.regions[far.index] = far
        return self.by_storage[storage._cdata]

    def load(self, addresses: np.ndarray, mask: np.ndarray | None, other, dtype: np.dtype) -> np.ndarray:
        self._look(Access("load", addresses, mask, dtype))
        return np.zeros(addresses.shape, dtype)

    def store(self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray | None) -> None:
        self._look(Access("store", addresses, mask, values.dtype))

    def atomic(self, addresses: np.ndarray, mask: np.ndarray | None, dtype: np.dtype, update, *_: bool):
        self._look(Access("atomic", addresses, mask, dtype))
        return np.zeros(addresses.shape, dtype)

    def _look(self, access: Access) -> None:
        if not self._points_into_several(access):
            self._resolve(access)


class _FarSession(Session):
    devices = ("meta", "cpu")
    memory_type = _FarMemory
    specializes = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.memory.events.remove(self.traffic)  # storages without memory have no shadows to count by

    def _programs(self, count: int) -> Iterable[int]:
        return sorted({0, count - 1}) if count else ()


class _Tolerant(Carries):
    """Integers of another width make other types of what is carried through a loop: no matter here."""

    def refuse(self, sentence: str, line: int) -> None:
        pass


class _WideSession(_FarSession):
    """The same with every integer argument 64 bits wide, and so what is computed with strides."""

    comparisons = _Tolerant

    @staticmethod
    def integer(value: int) -> tl.tensor:
        return scalar(value, tl.int64)
