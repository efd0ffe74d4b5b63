"""A tensor as a launch receives it: a window onto a storage, which other tensors may share."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

RAW_POINTER_NAME = "a tensor kept as a pointer"


@dataclass(frozen=True)
class View:
    """A tensor as it was passed: parameter name, and its window onto the storage (in elements)."""

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    itemsize: int

    @property
    def dense(self) -> bool:
        """True if the view's elements fill one interval of memory, in whatever order."""
        numel = math.prod(self.shape)
        span = 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)) if numel else 0
        return numel == span

    def interval(self) -> tuple[int, int]:
        """First byte and the byte after the last, relative to the storage."""
        if 0 in self.shape:
            return self.offset * self.itemsize, self.offset * self.itemsize
        reach = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        return self.offset * self.itemsize, (self.offset + reach + 1) * self.itemsize

    def coordinates(self, byte: int) -> tuple[int, ...]:
        """Index of the element at `byte` as the tensor's strides see it; may lie outside the shape."""
        left = byte // self.itemsize - self.offset
        order = sorted(range(len(self.shape)), key=lambda d: -self.strides[d])
        index = [0] * len(self.shape)
        for place, d in enumerate(order):
            stride = max(self.strides[d], 1)
            index[d] = left // stride
            if place > 0 and self.strides[d] == 0:
                index[d] = 0
            left -= index[d] * stride
        return tuple(index)


def holders(views: list[View], index: np.ndarray, itemsize: int) -> list[View]:
    """The tensors that an access may have gone through: those with all its elements (items of the storage).

    Where none has all of them, it is all. A tensor that was only asked for its address, as a launcher does
    that looks at its alignment, is none of them.
    """
    views = [view for view in views if view.name != RAW_POINTER_NAME] or views
    if len(views) == 1:
        return views
    return [view for view in views if coordinates(view, index, itemsize) is not None] or views


def coordinates(view: View, index: np.ndarray, itemsize: int) -> np.ndarray | None:
    """Indices [dimensions, lanes] of the elements `index` (items of the storage); None if one is outside.

    Dimensions of one element, or of stride 0, have index 0.
    """
    left = index.astype(np.int64) * itemsize // view.itemsize - view.offset
    found = np.zeros((len(view.shape), left.size), np.int64)
    for d in real_dimensions(view):
        found[d] = left // view.strides[d]
        left = left - found[d] * view.strides[d]
    sizes = np.array(view.shape, np.int64)[:, None]
    inside = not left.any() and bool(((found >= 0) & (found < sizes)).all())
    return found if inside else None


def real_dimensions(view: View) -> list[int]:
    """Dimensions along which an address moves, the largest stride first."""
    moving = [d for d, size in enumerate(view.shape) if size > 1 and view.strides[d] > 0]
    return sorted(moving, key=lambda d: -view.strides[d])
