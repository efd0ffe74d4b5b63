"""Leaks tile by tile: whether a mask is missing in whole tiles, and in which."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from torch import Tensor

WHOLE = 0.9
"""The share of a tile's hidden pairs that must have weight if the tile is taken whole."""

Tile = tuple[int, int]


@dataclass(frozen=True)
class LeakingTiles:
    """Leaks in tiles of one `size`, (queries, keys), that let nearly all of their hidden pairs through.

    `crossed` are all of them crossed by the diagonal; `masked` other tiles are crossed too, and let no hidden
    pair through.
    """

    size: Tile
    crossed: bool
    masked: int


def leaking_tiles(
    visible: Tensor, leaking: Tensor, sizes: tuple[int, ...], square: bool
) -> list[LeakingTiles]:
    """The sizes of tiles with which leaks make up whole tiles, with what can be said about them."""
    pairs = [(s, s) for s in sizes] if square else list(product(sizes, repeat=2))
    return [found for size in pairs if (found := _in_tiles(visible, leaking, size)) is not None]


def _in_tiles(visible: Tensor, leaking: Tensor, size: Tile) -> LeakingTiles | None:
    crossed, masked, of_leaking = True, 0, 0
    for a in range(0, leaking.shape[0], size[0]):
        for b in range(0, leaking.shape[1], size[1]):
            tile = (slice(a, a + size[0]), slice(b, b + size[1]))
            hidden, on_diagonal = int((~visible[tile]).sum()), bool(visible[tile].any())
            if bool(leaking[tile].any()):
                of_leaking += hidden
                crossed &= on_diagonal
            elif hidden and on_diagonal:
                masked += 1
    return LeakingTiles(size, crossed, masked) if int(leaking.sum()) >= WHOLE * of_leaking else None


def tells(visible: Tensor, size: Tile) -> bool:
    """Whether tiles that are hidden as a whole exist: if not, those on the diagonal are no special ones."""
    starts = product(*(range(0, n, s) for n, s in zip(visible.shape, size, strict=True)))
    return any(not bool(visible[a : a + size[0], b : b + size[1]].any()) for a, b in starts)
