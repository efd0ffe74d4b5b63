"""Where each recorded value lies: which head, which queries, which keys; found by what was loaded.

A tile that equals some rows of Q (or a multiple of them) shows where its program is on the axis of queries,
whatever its name and its block size. A round of a loop whose load was not recognised is placed by the other
rounds, if their tiles follow each other in equal steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from flashlearn.interpreter.observers.assigned_values import Event, Scope
from flashlearn.quantity import Quantities, Quantity, Window

SAME = 2e-5
"""Relative to a tile's largest entry: fp32 rounding apart, the same."""

LEAST = 4  # numbers that must agree before a load counts as recognised


@dataclass(frozen=True)
class Spot:
    """A stretch of one axis: where it begins in which head, and the block's length (None: no such axis)."""

    head: int
    start: int
    block: int | None


class Places:
    """The spots of all programs of one record."""

    def __init__(self, events: list[Event], quantities: Quantities):
        self.sizes = quantities.sizes
        self.anchors = [q for q in quantities.known if q.whole is not None and len(q.axes) == 2]
        self.spots: dict[tuple, dict[tuple[Scope, str], Spot | None]] = defaultdict(dict)
        self.scopes: dict[tuple, dict[Scope, int]] = defaultdict(dict)
        by_number = {e.number: e for e in events}
        for event in events:
            key = (event.launch, event.program)
            for depth in range(len(event.scope) + 1):
                self.scopes[key].setdefault(event.scope[:depth], event.number)
            if not any(is_tile(by_number[n].array) for n in event.operands):
                for axis, spot in self._recognised(event.array):
                    known = self.spots[key].setdefault((event.scope, axis), spot)
                    if known is None or (known.head, known.start) != (spot.head, spot.start):
                        self.spots[key][event.scope, axis] = None  # two tiles at once: not followed

    def window(self, event: Event) -> tuple[Window, dict[str, int | None]] | None:
        """The window of an event and its block lengths, as far as they are known; None in no known head."""
        key = (event.launch, event.program)
        at, seen, before, blocks, heads = {}, {}, {}, {}, set()
        for axis, size in self.sizes.items():
            if axis == "d":
                at[axis], blocks[axis] = slice(0, size), size
                continue
            spot = self._spot(key, event.scope, axis)
            if spot is None and self._moves(key, event.scope, axis):
                return None
            visited = self._visited(key, event, axis)
            if spot is not None:
                heads.add(spot.head)
                blocks[axis] = spot.block
                at[axis] = slice(spot.start, min(spot.start + (spot.block or 1), size))
            if visited is not None:
                present = np.zeros(size, bool)
                if spot is not None:
                    present[at[axis]] = True
                seen[axis], before[axis] = visited | present, visited & ~present
                heads |= {s.head for (_, a), s in self.spots[key].items() if a == axis and s is not None}
        return (Window(heads.pop(), at, seen, before), blocks) if len(heads) == 1 else None

    def _spot(self, key: tuple, scope: Scope, axis: str) -> Spot | None:
        """The spot of the innermost loop that moves along the axis."""
        spots = self.spots[key]
        for depth in range(len(scope), -1, -1):
            here = scope[:depth]
            if spots.get((here, axis)) is not None:
                return spots[here, axis]
            if depth and (guess := self._between(spots, here, axis)) is not None:
                return guess
        return None

    def _between(self, spots: dict, scope: Scope, axis: str) -> Spot | None:
        """A spot for a round whose own load said nothing, from the other rounds of the same loop."""
        loop, turn = scope[-1]
        others = sorted(
            (other[-1][1], spot)
            for (other, a), spot in spots.items()
            if a == axis and spot is not None and other and other[:-1] == scope[:-1] and other[-1][0] == loop
        ) if spots else []  # fmt: skip
        if not others or others[0][1].block is None:
            return None
        (first, spot), step = others[0], others[0][1].block
        if len(others) > 1:
            step = (others[1][1].start - spot.start) / (others[1][0] - first)
        if any(s.start != spot.start + (t - first) * step for t, s in others):
            return None
        start = spot.start + (turn - first) * step
        inside = 0 <= start < self.sizes[axis] and start == int(start)
        return Spot(spot.head, int(start), spot.block) if inside else None

    def _visited(self, key: tuple, event: Event, axis: str) -> np.ndarray | None:
        """What has been visited of an axis when an event happens; None if that is not sure."""
        visited = np.zeros(self.sizes[axis], bool)
        for scope, number in self.scopes[key].items():
            related = scope[:-1] == event.scope[: max(len(scope) - 1, 0)]
            if number > event.number or not related or not self._moves(key, scope, axis):
                continue
            spot = self._spot(key, scope, axis)
            if spot is None:
                return None
            visited[spot.start : spot.start + (spot.block or 1)] = True
        return visited

    def _moves(self, key: tuple, scope: Scope, axis: str) -> bool:
        """True if this round, or another round of its loop, loads along the axis."""
        if (scope, axis) in self.spots[key]:
            return True
        return bool(scope) and any(
            a == axis
            and len(other) == len(scope)
            and other[:-1] == scope[:-1]
            and other[-1][0] == scope[-1][0]
            for other, a in self.spots[key]
        )

    def _recognised(self, array: np.ndarray) -> Iterator[tuple[str, Spot]]:
        if array.dtype.kind in "iub" or array.size < LEAST or array.ndim not in (1, 2):
            return
        for anchor in self.anchors:
            found = _rows_of(array, anchor) if anchor.axes[1] == "d" else _tile_of(array, anchor)
            if found:
                yield from found
                return


def is_tile(array: np.ndarray) -> bool:
    """True for more than one floating-point number that are not all the same."""
    return array.dtype.kind not in "iub" and array.size > 1 and not bool((array == array.flat[0]).all())


def _rows_of(array: np.ndarray, anchor: Quantity) -> list[tuple[str, Spot]]:
    """Rows of a [heads, S, D] input, times any number, in either orientation."""
    _heads, S, D = anchor.whole.shape
    if array.ndim != 2 or D < LEAST:
        return []
    for tile in (array, array.T):
        if tile.shape[1] < D:
            continue
        tile = tile[:, :D].astype(np.float64)
        flat, first = anchor.whole.reshape(-1, D), tile[0]
        norms = np.sqrt((flat**2).sum(-1))
        size = float(np.sqrt((first**2).sum()))
        if not 0 < size < np.inf or not norms.all():
            continue
        likeness = np.abs(flat @ first) / (norms * size)
        index = int(likeness.argmax())
        if (likeness > 1 - 1e-6).sum() != 1:
            continue
        head, start = divmod(index, S)
        n = min(len(tile), S - start)
        factor = float(flat[index] @ first) / norms[index] ** 2
        if _close(tile[:n], factor * anchor.whole[head, start : start + n]):
            return [(anchor.axes[0], Spot(head, start, len(tile)))]
    return []


def _tile_of(array: np.ndarray, anchor: Quantity) -> list[tuple[str, Spot]]:
    """A tile of a [heads, M, N] input, or a stretch of one row of it."""
    tiles = [(array[None], None)] if array.ndim == 1 else [(array, len(array)), (array.T, array.shape[1])]
    for tile, rows in tiles:
        tile = tile.astype(np.float64)
        corner = tile[0, 0]
        if not np.isfinite(corner) or corner == 0:
            continue
        found = np.argwhere(np.abs(anchor.whole - corner) <= 1e-6 * abs(corner))[:64]
        fits = []
        for head, i, j in found:
            right = anchor.whole[head, i : i + len(tile), j : j + tile.shape[1]]
            if right.size >= LEAST and _close(tile[: right.shape[0], : right.shape[1]], right):
                fits.append((int(head), int(i), int(j)))
        if len(fits) == 1:
            head, i, j = fits[0]
            return [(anchor.axes[0], Spot(head, i, rows)), (anchor.axes[1], Spot(head, j, tile.shape[1]))]
    return []


def _close(got: np.ndarray, right: np.ndarray) -> bool:
    infinite = np.isinf(right)
    if not np.array_equal(got[infinite], right[infinite]) or infinite.all():
        return False
    gap = np.abs(got[~infinite] - right[~infinite])
    return bool((gap <= SAME * np.abs(right[~infinite]).max()).all())
