"""Copies, row sums and products in torch: right, and with the faults that learners' tiles would give."""

from __future__ import annotations

import torch
from torch import Tensor

NONE: frozenset[str] = frozenset()


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()


def _tile(x: Tensor, row: int, column: int, rows: int, columns: int) -> Tensor:
    """What the copy engine brings: the block of x at (row, column), with zeros where x is over."""
    found = x.new_zeros(rows, columns)
    inside = x[row : row + rows, column : column + columns]
    found[: inside.shape[0], : inside.shape[1]] = inside
    return found


def copied(x: Tensor, faults: frozenset[str] = NONE, block: int = 64) -> Tensor:
    """y = x. Fault: "corner exchanged", each tile is that of the corner (column, row)."""
    if not faults:
        return x.clone()
    y = torch.empty_like(x)
    for row in range(0, x.shape[0], block):
        for column in range(0, x.shape[1], block):
            whole = _tile(x, column, row, block, block)
            part = y[row : row + block, column : column + block]
            part.copy_(whole[: part.shape[0], : part.shape[1]])
    return y


def summed(x: Tensor, faults: frozenset[str] = NONE, rows: int = 32, columns: int = 64) -> Tensor:
    """y [M] = the sum of each row of x [M, N], in fp32 (fp64 of fp64).

    Faults: "last tile only", "first tile missing", "last tile missing" (where N is no multiple of the
    columns), "corner exchanged".
    """
    x = _wide(x)
    if "corner exchanged" in faults:
        return _summed_elsewhere(x, rows, columns)
    tiles = x.split(columns, dim=1)
    if "last tile only" in faults:
        return tiles[-1].sum(1)
    if "first tile missing" in faults:
        return x[:, columns:].sum(1)
    if "last tile missing" in faults:
        return x[:, : x.shape[1] // columns * columns].sum(1)
    return x.sum(1)


def summed_by_tiles(x: Tensor) -> Tensor:
    """The same, tile by tile."""
    return sum(tile.sum(1) for tile in _wide(x).split(64, dim=1))


def _summed_elsewhere(x: Tensor, rows: int, columns: int) -> Tensor:
    M, N = x.shape
    y = x.new_zeros(M)
    for first in range(0, M, rows):
        for start in range(0, N, columns):
            found = _tile(x, start, first, rows, columns).sum(1)
            y[first : first + rows] += found[: y[first : first + rows].shape[0]]
    return y


def product(
    a: Tensor, b: Tensor, faults: frozenset[str] = NONE, step: int = 64, rows: int = 128, columns: int = 128
) -> Tensor:
    """c [M, N] = a [M, K] b [K, N] with sums in fp32 (fp64 of fp64), in a's dtype.

    Faults: "last step only", "last step missing" (where K is no multiple of the step), "same rows twice"
    (each second half of `rows` rows repeats the first), "b exchanged" and "a exchanged" (tiles of b are those
    of the corner (column, k), of a those of (k, row)), "b transposed" (its square tiles are, each in itself).
    """
    K = a.shape[1]
    wide_a, wide_b = _wide(a), _wide(b)
    inner = slice(0, K)
    if "last step only" in faults:
        inner = slice((K - 1) // step * step, K)
    if "last step missing" in faults:
        inner = slice(0, K // step * step)
    if "same rows twice" in faults:
        half = rows // 2
        c = (wide_a @ wide_b).to(a.dtype)
        for start in range(half, c.shape[0], rows):
            part = c[start : start + half]
            part.copy_(c[start - half : start].clone()[: part.shape[0]])
        return c
    if "b transposed" in faults:
        return _product_elsewhere(wide_a, wide_b, faults, step, rows, step).to(a.dtype)
    if "b exchanged" in faults or "a exchanged" in faults:
        return _product_elsewhere(wide_a, wide_b, faults, step, rows, columns).to(a.dtype)
    return (wide_a[:, inner] @ wide_b[inner]).to(a.dtype)


def _product_elsewhere(
    a: Tensor, b: Tensor, faults: frozenset[str], step: int, rows: int, columns: int
) -> Tensor:
    (M, K), N = a.shape, b.shape[1]
    c = a.new_zeros(-(-M // rows) * rows, -(-N // columns) * columns)
    for m in range(0, M, rows):
        for n in range(0, N, columns):
            for k in range(0, K, step):
                at_a = (k, m) if "a exchanged" in faults else (m, k)
                at_b = (n, k) if "b exchanged" in faults else (k, n)
                tile = _tile(b, *at_b, step, columns)
                tile = tile.T if "b transposed" in faults else tile
                c[m : m + rows, n : n + columns] += _tile(a, *at_a, rows, step) @ tile
    return c[:M, :N]


def product_by_steps(a: Tensor, b: Tensor) -> Tensor:
    """The same, summed step by step along the inner dimension."""
    pairs = zip(_wide(a).split(64, dim=1), _wide(b).split(64, dim=0), strict=True)
    return sum(a_k @ b_k for a_k, b_k in pairs).to(a.dtype)
