"""From addresses to tiles: which elements of a tensor the lanes of one access ask for.

An access is a grid of lanes. Where its addresses grow evenly along each axis of that grid, and each axis
runs along one dimension of the tensor, the lanes form a tile, and the part of it that a mask switches
off has a place too, perhaps beyond the tensor's edge. Other accesses get the box around their elements.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flashlearn.interpreter.views import View, coordinates, real_dimensions

Range = tuple[int, int]
"""First index and one past the last."""


@dataclass(frozen=True)
class Tile:
    """The box around the elements that an access touched, one range per dimension of the tensor.

    `asked` is the box of all lanes, masked-out ones included; it equals `touched` where the lanes form
    no tile. `filled` says that every element of `touched` was touched.
    """

    touched: tuple[Range, ...]
    asked: tuple[Range, ...]
    filled: bool


def tile(
    view: View, addresses: np.ndarray, lanes: np.ndarray | None, index: np.ndarray, itemsize: int
) -> Tile | None:
    """The tile of one access; None if all of its lanes are masked out or outside the view.

    `addresses` are in bytes, of the lanes' shape; `lanes` says which take part (None: all), `index`
    which items of the storage those are.
    """
    if index.size == 0 or (at := coordinates(view, index, itemsize)) is None:
        return None
    touched = tuple((int(row.min()), int(row.max()) + 1) for row in at)
    volume = int(np.prod([high - low for low, high in touched], dtype=np.int64))
    filled = np.unique(index).size == volume
    asked = _asked(view, addresses.view(np.int64), lanes, at)
    return Tile(touched, asked or touched, filled)


def _asked(
    view: View, addresses: np.ndarray, lanes: np.ndarray | None, at: np.ndarray
) -> tuple[Range, ...] | None:
    """The box of all lanes, if they form a tile whose axes run along dimensions of the tensor."""
    steps = _even_steps(addresses)
    if steps is None:
        return None
    along = _dimensions_of(view, steps, addresses.shape)
    if along is None:
        return None
    places = np.nonzero(np.ones(addresses.shape, bool) if lanes is None else lanes)
    box: list[Range] = []
    for d in range(len(view.shape)):
        axis, stride = along.get(d, (None, 0))
        offset = places[axis] * stride if axis is not None else np.zeros_like(places[0])
        origin = at[d] - offset
        if (origin != origin[0]).any():
            return None  # rows wrap around: the lanes are no tile of this tensor
        first = int(origin[0])
        box.append(
            (first, first + (addresses.shape[axis] - 1) * stride + 1 if axis is not None else first + 1)
        )
    return tuple(box)


def _even_steps(addresses: np.ndarray) -> list[int] | None:
    """Bytes from lane to lane along each axis, if they are the same everywhere."""
    if addresses.ndim == 0:
        return []
    steps, expected = [], np.full(addresses.shape, addresses.flat[0])
    for axis, size in enumerate(addresses.shape):
        second = tuple(int(a == axis) for a in range(addresses.ndim))
        step = int(addresses[second] - addresses.flat[0]) if size > 1 else 0
        steps.append(step)
        shape = [size if a == axis else 1 for a in range(addresses.ndim)]
        expected = expected + (np.arange(size) * step).reshape(shape)
    return steps if np.array_equal(expected, addresses) else None


def _dimensions_of(view: View, steps: list[int], shape: tuple[int, ...]) -> dict[int, tuple[int, int]] | None:
    """For each dimension that an axis of lanes runs along: that axis, and its step in elements."""
    along: dict[int, tuple[int, int]] = {}
    for axis in sorted(range(len(steps)), key=lambda a: -abs(steps[a])):
        if shape[axis] == 1:
            continue
        elements, rest = divmod(steps[axis], view.itemsize)
        fits = [
            d
            for d in real_dimensions(view)
            if d not in along and elements >= view.strides[d] and elements % view.strides[d] == 0
        ]
        if rest or not fits:
            return None
        along[fits[0]] = (axis, elements // view.strides[fits[0]])
    return along
