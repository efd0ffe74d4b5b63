"""Which quantity a value is: by its numbers, over the entries that exist, in either orientation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from flashlearn.explaining.divergence.windows import SAME, Places, is_tile
from flashlearn.interpreter.observers.assigned_values import Event
from flashlearn.quantity import Quantities, Quantity, Window

FAR = 1e-3
"""Relative to a tile's largest entry: what differs by more is another number, not rounding."""

VANISHED = 1e-5
"""Relative to what it was made of: a difference so small is rounding."""

HIDDEN = -1e4
"""A score this low counts as −inf."""

WEAK = ("unscaled", "unmasked")
Blocks = dict[str, int | None]


@dataclass(frozen=True)
class Match:
    """A value is `factor` times a quantity, and surely so if that is no accident.

    `unclean` are the axes along which its padding would count in a sum; `turned` if it is transposed.
    """

    quantity: Quantity
    factor: float
    unclean: frozenset[str]
    sure: bool
    turned: bool


@dataclass(frozen=True)
class Reading:
    """What one event holds. `near`: something it almost is, so that nothing can be said about it."""

    event: Event
    window: Window | None
    blocks: Blocks
    matches: tuple[Match, ...]
    near: bool = False

    @property
    def firm(self) -> tuple[Match, ...]:
        """Matches of quantities that lack neither a factor nor a mask."""
        return tuple(m for m in self.matches if m.quantity.kind not in WEAK)

    @property
    def right(self) -> bool:
        """True if nothing is wrong with this value as something to compute with."""
        array = self.event.array
        if self.matches or array.dtype.kind in "iu":
            return True
        if array.dtype.kind == "b":
            return not is_mask(self)
        return not self.near and not is_tile(array) and (array.size > 1 or self.blocks.get("q") is not None)

    @property
    def unclean(self) -> frozenset[str]:
        """Axes along which what it pads would count in a sum."""
        return frozenset.intersection(*(m.unclean for m in self.matches)) if self.matches else frozenset()


def is_mask(reading: Reading) -> bool:
    """True for a mask over pairs of a query and a key that is not the same for all pairs that exist."""
    window, array = reading.window, reading.event.array
    if array.dtype.kind != "b" or window is None or not {"q", "k"} <= set(window.at):
        return False
    tiles = list(views(array, ("q", "k"), window, reading.blocks))
    return bool(tiles) and all(not (t.all() or not t.any()) for t in tiles)


@dataclass(frozen=True)
class Right:
    """The numbers of a quantity in one window, ready to be compared with. NaN: any number will do.

    `telling`: agreeing with them is no accident.
    """

    array: np.ndarray
    free: bool
    finite: np.ndarray
    hidden: np.ndarray | None
    numbers: np.ndarray
    scale: float
    telling: bool


class Expected:
    """Quantities by window, each computed once."""

    def __init__(self, quantities: Quantities):
        self.known = quantities.known
        self._windows: dict[tuple, Window] = {}
        self._kept: dict[tuple[int, int], Right | None] = {}

    def one(self, window: Window) -> Window:
        """The representative of all equal windows."""
        ranges = tuple((a, s.start, s.stop) for a, s in window.at.items())
        parts = (window.seen, window.before)
        visited = tuple((a, seen.tobytes()) for part in parts for a, seen in part.items())
        return self._windows.setdefault((window.head, ranges, visited), window)

    def of(self, quantity: Quantity, window: Window) -> Right | None:
        """A quantity in a window that came from `one`; None if the window does not say where that is."""
        key = (id(quantity), id(window))
        if key not in self._kept:
            array = value_of(quantity, window)
            self._kept[key] = _prepared(array) if array is not None else None
        return self._kept[key]


def _prepared(array: np.ndarray) -> Right:
    if array.dtype == bool:
        telling = not (array.all() or not array.any())
        return Right(array, False, array, None, array, 1.0, telling)
    finite, hidden = np.isfinite(array), array == -np.inf
    numbers = array[finite]
    scale = float(np.abs(numbers).max()) if numbers.size else 0.0
    if array.size == 1:
        telling = bool(numbers.size) and scale not in (0.0, 1.0)
    else:
        telling = len(np.unique(numbers.round(9))) >= 3
    free = bool(np.isnan(array).any())
    return Right(array, free, finite, hidden if hidden.any() else None, numbers, scale, telling)


def read(events: list[Event], quantities: Quantities) -> dict[int, Reading]:
    """What each event holds, by its number."""
    places, expected = Places(events, quantities), Expected(quantities)
    first: dict[tuple, int] = {}
    out = {}
    for event in events:
        key = (event.launch, event.program, event.site.name)
        outer = first.setdefault(key, len(event.scope))
        placed = places.window(event) if event.array.dtype.kind not in "iu" else None
        if placed is None:
            out[event.number] = Reading(event, None, {}, ())
            continue
        carried = event.site.kind == "assign" and outer < len(event.scope)
        out[event.number] = _reading(event, expected.one(placed[0]), placed[1], expected, carried)
    return out


def _reading(event: Event, window: Window, blocks: Blocks, expected: Expected, carried: bool) -> Reading:
    matches, near = [], False
    for quantity in expected.known:
        if carried and quantity.kind == "tile":
            continue  # a sum that holds one tile's share alone has lost the others
        if event.site.kind == "store" and quantity.kind not in ("output", "input"):
            continue
        for view, tile, turned in oriented(event.array, quantity.axes, window, blocks):
            right = expected.of(quantity, window)
            if right is None:
                break
            for factor in quantity.factors:
                gap = distance(view, right, factor)
                if gap <= SAME:
                    unclean = _unclean(tile, window, blocks, quantity)
                    matches.append(Match(quantity, factor, unclean, right.telling, turned))
                near = near or SAME < gap <= FAR
    return Reading(event, window, blocks, tuple(matches), near and not matches)


def value_of(quantity: Quantity, window: Window) -> np.ndarray | None:
    """The quantity in a window; None if the window does not say where that is."""
    needed = set(quantity.axes) | (set(quantity.needs) if quantity.kind == "tile" else set())
    if not needed <= set(window.at) or not set(quantity.needs) <= set(window.seen):
        return None
    if not set(quantity.axes) - {"d"} <= set(window.seen):
        return None
    with np.errstate(all="ignore"):
        return np.asarray(quantity.value(window))


def distance(view: np.ndarray, right: Right, factor: float = 1.0) -> float:
    """The largest difference over the largest number; infinite where only one of two is finite."""
    if right.array.dtype == bool or view.dtype == bool:
        same = right.array.dtype == view.dtype and np.array_equal(view, right.array)
        return 0.0 if same else np.inf
    got, scale = view.reshape(right.array.shape), right.scale * abs(factor)
    if not right.numbers.size:  # nothing but hidden keys, or nothing that matters
        hides = right.hidden is not None and bool((got[right.hidden] <= HIDDEN).all())
        return 0.0 if hides else np.inf
    numbers = got[right.finite].astype(np.float64)
    first = abs(numbers[0] - factor * right.numbers[0])
    if not first <= FAR * scale:
        return np.inf
    if right.free and np.isnan(got.astype(np.float64)).any():
        return np.inf
    if right.hidden is not None and not (got[right.hidden] <= HIDDEN).all():
        return np.inf
    gap = float(np.abs(numbers - factor * right.numbers).max())
    if not np.isfinite(gap) or (not right.free and right.hidden is None and right.numbers.size != got.size):
        return np.inf
    return gap / scale if scale else (0.0 if gap == 0 else np.inf)


def views(array: np.ndarray, axes: tuple[str, ...], window: Window, blocks: Blocks) -> Iterator[np.ndarray]:
    """The part of a value that exists, if its shape is that of these axes; in each orientation that fits."""
    for view, _, _ in oriented(array, axes, window, blocks):
        yield view


def oriented(
    array: np.ndarray, axes: tuple[str, ...], window: Window, blocks: Blocks
) -> Iterator[tuple[np.ndarray, np.ndarray, bool]]:
    """The part that exists, the whole with its padding, and whether both are transposed."""
    if not set(axes) <= set(blocks):
        return
    real = [axis for axis in axes if blocks.get(axis) is not None]
    if len(real) < 2 and array.ndim != len(real):
        array = array.reshape([n for n in array.shape if n != 1] or [1])
    tiles = [array, array.T] if len(real) == 2 and array.ndim == 2 else [array]
    for turned, tile in enumerate(tiles):
        if not real and array.size == 1:
            yield tile.reshape(1), tile.reshape(1), False
            return
        if tile.ndim != len(real) or not all(
            n >= blocks[a] if a == "d" else n == blocks[a] for n, a in zip(tile.shape, real, strict=True)
        ):
            continue
        extents = tuple(slice(0, window.at[a].stop - window.at[a].start) for a in real)
        yield tile[extents], tile, bool(turned)


def _unclean(tile: np.ndarray, window: Window, blocks: Blocks, quantity: Quantity) -> frozenset[str]:
    """Axes along which what lies beyond the real entries of a tile would count in a sum."""
    real = [axis for axis in quantity.axes if blocks.get(axis) is not None]
    if tile.dtype == bool or len(quantity.axes) != 2 or tile.ndim != len(real):
        return frozenset()
    lengths = {axis: window.at[axis].stop - window.at[axis].start for axis in real}
    found = set()
    for axis in real:
        beyond = tuple(
            slice(lengths[other], None) if other == axis else slice(0, lengths[other]) for other in real
        )
        rest = tile[beyond].astype(np.float64)
        adds = rest > HIDDEN if quantity.padding == -np.inf else rest != 0
        if adds.any() or np.isnan(rest).any():
            found.add(axis)
    return frozenset(found)


def vanishing(array: np.ndarray, operands: Iterable[np.ndarray], rights: Sequence[np.ndarray | None]) -> bool:
    """True for a difference of equal numbers: what is left is rounding, here and in what it should be."""
    least = VANISHED * max(map(_largest, operands), default=0.0)
    small = all(right is not None and _largest(right) <= least for right in rights)
    return bool(rights) and array.dtype.kind == "f" and small and _largest(array) <= least


def _largest(array: np.ndarray) -> float:
    numbers = np.ravel(array)
    numbers = np.abs(numbers[np.isfinite(numbers)]) if array.dtype.kind == "f" else numbers[:0]
    return float(numbers.max()) if numbers.size else 0.0
