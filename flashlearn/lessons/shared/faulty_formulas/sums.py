"""Sums in tiles, in torch, with faults by name: what mistakes in columns, delta and products give.

    >>> column_sums(dy, faults=frozenset({"last tile only"}), tile=(16, 32))
    >>> matmul(a, b, faults=frozenset({"B stays"}))      # without a fault: right

`tile` is (rows, columns): its second number is how much of a row, or of the inner dimension, a step of the
loop takes, its first how many rows a step of `column_sums` does. Several faults can be made at once.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled

PARTS = frozenset(
    {"first tile only", "last tile only", "first tile left out", "last tile left out", "ragged tile left out"}
)
OVERLAPS = frozenset({"tiles twice as high", "steps of one row"})
TILED = (
    PARTS
    | OVERLAPS
    | {"A stays", "B stays", "tiles not turned back", "rows of the tile summed"}
    | {"inner index wraps around"}
)
"""The faults whose results depend on the tile."""


def visited_range(length: int, block: int, faults: Faults) -> slice:
    """What a loop over 0 … length − 1 visits, block by block, if it starts or ends where it should not."""
    last = (length - 1) // block * block
    if "first tile only" in faults:
        return slice(0, block)
    if "last tile only" in faults:
        return slice(last, length)
    if "first tile left out" in faults:
        return slice(block, length)
    if "last tile left out" in faults:
        return slice(0, last)
    if "ragged tile left out" in faults:
        return slice(0, length // block * block)
    if "last line left out" in faults:
        return slice(0, length - 1)
    return slice(0, length)


@tiled(TILED, one_side=True)
def column_sums(dy: Tensor, faults: Faults = NONE, tile: Tile = (32, 32)) -> Tensor:
    """db[j] = Σ_i dy[i, j]."""
    if faults & OVERLAPS:
        dy = _counted(dy, faults, tile)
    if "rows of the tile summed" in faults:
        return _sums_of_rows(dy, tile)
    db = dy[visited_range(dy.shape[0], tile[0], faults)].sum(dim=0)
    return db / dy.shape[0] if "mean" in faults else db


def _sums_of_rows(dy: Tensor, tile: Tile) -> Tensor:
    """Sums of each tile's rows in the places of its columns' sums. ValueError if tiles are not square."""
    if tile[0] != tile[1]:
        raise ValueError("this fault needs square tiles")
    rows, columns = dy.shape
    dy = torch.nn.functional.pad(dy, (0, -columns % tile[1], 0, -rows % tile[0]))
    tiles = dy.unflatten(0, (-1, tile[0])).unflatten(2, (-1, tile[1]))  # [down, row, across, column]
    return tiles.sum(dim=(0, 3)).t().flatten()[:columns]


def _counted(dy: Tensor, faults: Faults, tile: Tile) -> Tensor:
    """dy, each row times the number of tiles in which it lies: tiles are higher than the loop's step."""
    step = 1 if "steps of one row" in faults else tile[0]
    height = 2 * tile[0] if "tiles twice as high" in faults else tile[0]
    rows = torch.arange(dy.shape[0])
    starts = torch.arange(0, dy.shape[0], step)
    inside = (starts[:, None] <= rows) & (rows < starts[:, None] + height)  # (steps, rows)
    return dy * inside.sum(dim=0).to(dy.dtype)[:, None]


@tiled(TILED, one_side=True)
def delta(o: Tensor, do: Tensor, faults: Faults = NONE, tile: Tile = (32, 32)) -> Tensor:
    """delta[b, h, i] = Σ_d o_id do_id."""
    D = o.shape[-1]
    d = visited_range(D, tile[1], faults)
    left = do if "do twice" in faults else o
    right = o if "o twice" in faults else do
    left, right = left[..., d], right[..., d]
    total = left.sum(-1) * right.sum(-1) if "taken apart" in faults else (left * right).sum(-1)
    if "mean" in faults:
        total = total / D
    return total / math.sqrt(D) if "scaled" in faults else total


@tiled(TILED, one_side=True)
def matmul(a: Tensor, b: Tensor, faults: Faults = NONE, tile: Tile = (32, 32)) -> Tensor:
    """C = A B, block by block of the inner dimension; where a pointer stays, its mask still moves."""
    K, block = a.shape[1], tile[1]
    k = visited_range(K, block, faults)
    if "inner index wraps around" in faults:
        wrapped = torch.arange(-(-K // block) * block) % K
        return a[:, wrapped] @ b[wrapped]
    c = a.new_zeros(a.shape[0], b.shape[1])
    for start in range(k.start, k.stop, block):
        width = min(block, k.stop - start)
        at_a = 0 if "A stays" in faults else start
        at_b = 0 if "B stays" in faults else start
        c = c + a[:, at_a : at_a + width] @ b[at_b : at_b + width]
    return _transpose_tiles(c, block) if "tiles not turned back" in faults else c


def _transpose_tiles(c: Tensor, block: int) -> Tensor:
    """C with each block × block tile transposed in its place; tiles at the edge are padded with zeros."""
    rows, columns = c.shape
    c = torch.nn.functional.pad(c, (0, -columns % block, 0, -rows % block))
    tiles = c.unflatten(0, (-1, block)).unflatten(2, (-1, block))  # [i, row, j, column]
    return tiles.transpose(1, 3).reshape(c.shape)[:rows, :columns]
