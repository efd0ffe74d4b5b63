"""The tiles of a head: what each program stored, or blocks of a fixed size."""

from __future__ import annotations

import itertools

from flashlearn.later import numpy as np
from flashlearn.report.selection import NoSuchPart
from flashlearn.report.tilemap import Panel, TileMap, edges
from flashlearn.report.units import plural

BLOCK = 16  # elements, where no program's block is known
LEAST = 4  # elements that a program's block has on average, for its blocks to be tiles

Tile = int | tuple[int, ...] | None
Span = tuple[int, int]


def cuts_of(panel: Panel, block: int | tuple[int, int] | None) -> tuple[tuple[list[Span], list[Span]], bool]:
    """The tiles' rows and columns, and whether they are the programs' own blocks."""
    sizes = panel.ratio.shape
    bounds = [edges(panel, axis).tolist() for axis in (0, 1)]
    tiles = (len(bounds[0]) + 1) * (len(bounds[1]) + 1)
    known = block is None and panel.writers is not None and panel.ratio.size >= LEAST * tiles
    if not known:
        steps = block if isinstance(block, tuple | list) else (block or BLOCK, block or BLOCK)
        if len(steps) != 2 or not all(isinstance(n, int) and n > 0 for n in steps):
            raise NoSuchPart(f"block is {block!r}: expected a number of elements, or a pair (rows, columns).")
        bounds = [list(range(step, size, step)) for step, size in zip(steps, sizes, strict=True)]
    rows, columns = (list(itertools.pairwise([0, *b, size])) for b, size in zip(bounds, sizes, strict=True))
    return (rows, columns), known


def position_of(
    tile: Tile, panel: Panel, cuts: tuple[list[Span], list[Span]], tiles: TileMap
) -> tuple[int, int]:
    """The requested tile as (row, column) of tiles; None means the one with the largest error."""
    if tile is None:
        worst = np.unravel_index(int(panel.badness.argmax()), panel.badness.shape)
        i, j = (
            next(n for n, (first, last) in enumerate(spans) if first <= at < last)
            for spans, at in zip(cuts, worst, strict=True)
        )
        return i, j
    index = tuple(tile) if isinstance(tile, tuple | list) else (tile,)
    if len(index) == 1 and tiles.strip:
        index = (0, *index)
    counts = [len(spans) for spans in cuts]
    inside = len(index) == 2 and all(
        isinstance(i, int) and 0 <= i < n for i, n in zip(index, counts, strict=True)
    )
    if not inside:
        raise NoSuchPart(f"There is no tile {tile}: {_how_many(panel, cuts, tiles)}")
    return index[0], index[1]


def _how_many(panel: Panel, cuts: tuple[list[Span], list[Span]], tiles: TileMap) -> str:
    high, wide = (max(b - a for a, b in spans) for spans in cuts)
    down, across = (len(spans) for spans in cuts)
    name = f"this head of {tiles.output}" if len(panel.shape) > 2 else tiles.output
    if tiles.strip:
        return f"{name} has {plural(across, 'tile')} of {wide} elements, tile=0 to tile={across - 1}."
    count = f"{down} × {across} tiles" if down * across > 1 else "one tile"
    return f"{name} has {count} of {high} × {wide} elements, tile=(0, 0) to tile=({down - 1}, {across - 1})."
