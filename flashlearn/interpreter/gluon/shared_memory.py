"""A program's shared memory: allocations, views of them, and who touched which bytes last.

Every access leaves a `SharedAccess`: what it did, where, and when it is over, as an agent's epoch. A later
access of the same bytes must know that epoch, if one of the two writes. Swizzles change where in memory an
element lies, not which element it is; here elements lie in the order of their indices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton.language as tl

from flashlearn.interpreter.gluon.vector_clock import Agent
from flashlearn.interpreter.low_precision import numpy_dtype
from flashlearn.observation import Place

Span = tuple[int, tuple[int, ...], tuple[int, ...], int]
"""Where a view lies in its allocation: offset in bytes, shape, strides in bytes, bytes of an element."""
UNDEFINED = 0xFF
"""Fresh memory: NaN in every floating-point type."""


@dataclass
class SharedAccess:
    """An access of a view: `what` it was, who asked for it, where; it is over at `epoch` of `agent`.

    `barrier` and `phase` say what completes a copy; `event` is its number in the timeline.
    """

    what: str
    writes: bool
    agent: Agent
    epoch: int
    partition: Any
    place: Place | None
    view: SharedView
    barrier: Any = None
    phase: int = 0
    event: int = -1
    issued: tuple[Agent, int] = ("", 0)  # for what is asynchronous: its partition's epoch when it asked
    when: int = 0  # of a copy by TMA: `Clocked.moment`


@dataclass
class Allocation:
    """One `allocate_shared_memory`: its bytes, which of them were ever written, and its last accesses."""

    number: int
    name: str
    place: Place | None
    data: np.ndarray
    written: np.ndarray
    touches: list[SharedAccess] = field(default_factory=list)
    apart: dict[tuple[Span, Span], bool] = field(default_factory=dict)

    @classmethod
    def of(cls, number: int, name: str, place: Place | None, size: int) -> Allocation:
        """Fresh memory of `size` bytes."""
        return cls(number, name, place, np.full(size, UNDEFINED, np.uint8), np.zeros(size, bool))


class SharedView:
    """A window onto an allocation: what a shared memory descriptor refers to. `path` is its index, "[1]".

    `lost` is (index, count) where a kernel asked for a buffer that is none: an address may be computed and
    not be used.
    """

    __slots__ = ("allocation", "array", "element", "layout", "lost", "path", "span")

    def __init__(
        self, allocation: Allocation, array: np.ndarray, element: tl.dtype, layout: Any, path: str = ""
    ):
        self.allocation, self.array, self.element = allocation, array, element
        self.layout, self.path = layout, path
        self.lost: tuple[int, int] | None = None
        offset = array.__array_interface__["data"][0] - allocation.data.__array_interface__["data"][0]
        self.span: Span = (offset, array.shape, array.strides, array.itemsize)

    @classmethod
    def whole(
        cls, allocation: Allocation, element: tl.dtype, shape: Sequence[int], layout: Any
    ) -> SharedView:
        """The view of all of an allocation."""
        array = allocation.data.view(numpy_dtype(element)).reshape(tuple(shape))
        return cls(allocation, array, element, layout)

    @property
    def name(self) -> str:
        """As the kernel has it: `a_smem[1]`."""
        return self.allocation.name + self.path

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        return self.array.nbytes

    def at(self, index: int) -> SharedView:
        """One of the buffers along the first dimension."""
        inside = 0 <= index < self.array.shape[0]
        number = index if inside else 0
        part = self.array[number : number + 1].reshape(self.array.shape[1:] or (1,))
        view = SharedView(self.allocation, part, self.element, self.layout, f"{self.path}[{index}]")
        view.lost = None if inside else (index, self.array.shape[0])
        return view

    def part(self, offsets: Sequence[int], shape: Sequence[int]) -> SharedView:
        """The block of `shape` at `offsets`."""
        cut = tuple(slice(o, o + n) for o, n in zip(offsets, shape, strict=True))
        return SharedView(self.allocation, self.array[cut], self.element, self.layout, self.path)

    def permuted(self, order: Sequence[int], layout: Any) -> SharedView:
        """The same elements with their dimensions in another order."""
        return SharedView(self.allocation, self.array.transpose(order), self.element, layout, self.path)

    def reshaped(self, shape: Sequence[int], layout: Any) -> SharedView:
        """The same elements in another shape; they lie in one piece."""
        return SharedView(self.allocation, self.array.reshape(tuple(shape)), self.element, layout, self.path)

    def reinterpreted(self, element: tl.dtype, shape: Sequence[int], layout: Any) -> SharedView:
        """The same bytes as elements of another type, from the view's first byte on."""
        kind = numpy_dtype(element)
        size = math.prod(shape) * kind.itemsize
        array = self.allocation.data[self.span[0] : self.span[0] + size].view(kind).reshape(tuple(shape))
        return SharedView(self.allocation, array, element, layout, self.path)

    def overlaps(self, other: SharedView) -> bool:
        """True if the two have a byte in common."""
        if self.allocation is not other.allocation:
            return False
        if self.span == other.span:
            return True
        key = (self.span, other.span)
        known = self.allocation.apart.get(key)
        if known is None:
            known = self.allocation.apart[key] = not np.shares_memory(self.array, other.array)
        return not known

    def covers(self, other: SharedView) -> bool:
        """True if all of the other's bytes are this one's, as far as that is seen at once."""
        if self.span == other.span:
            return True
        (low, high), (first, last) = _reach(self.span), _reach(other.span)
        return high - low == self.nbytes and low <= first and last <= high

    def mark_written(self) -> None:
        """Its bytes have been written."""
        self._written()[...] = True

    def never_written(self) -> bool:
        """True if one of its bytes has never been written."""
        return not self._written().all()

    def _written(self) -> np.ndarray:
        offset, shape, strides, size = self.span
        low, high = _reach(self.span)
        if high - low == self.nbytes:
            return self.allocation.written[low:high]
        return np.ndarray((*shape, size), bool, self.allocation.written, offset, (*strides, 1))


def _reach(span: Span) -> tuple[int, int]:
    """The first byte and the one after the last."""
    offset, shape, strides, size = span
    return offset, offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + size


def meets(view: SharedView, writes: bool) -> list[SharedAccess]:
    """The accesses so far that touch a byte of `view`, where one of the two writes."""
    return [t for t in view.allocation.touches if (writes or t.writes) and t.view.overlaps(view)]


def leave(touch: SharedAccess) -> None:
    """Keep an access; what it makes superfluous goes: what a write covers, the same agent's earlier read."""
    touches = touch.view.allocation.touches
    if touch.writes:
        touches[:] = [t for t in touches if not touch.view.covers(t.view)]
        touch.view.mark_written()
    else:
        same = (touch.agent, touch.view.span)
        touches[:] = [t for t in touches if t.writes or (t.agent, t.view.span) != same]
    touches.append(touch)
