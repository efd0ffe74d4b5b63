"""The one-pass kernels' tiles in torch, with faults by name: what most mistakes of lesson 11 compute.

    >>> dq, dk, dv = fused_scan(q, k, v, o, do, lse, alpha, causal, faults=frozenset({"delta omitted"}))

`owner` says what a program owns, "keys" or "queries". Faults are those of the shared formulas, and a few more
of a kernel that makes all three gradients. `tile` is (queries, keys).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.lessons.shared.faulty_formulas.backward_tile import (
    TILED,
    At,
    Scan,
    load_rows,
    lse_of,
    p_and_ds,
    positions,
    require_square_tile,
    rounded_ds,
    scan_of,
)
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled
from flashlearn.lessons.shared.faulty_formulas.gradients import scanned_keys, scanned_queries

NOT_TRANSPOSED = {"P not transposed", "dS not transposed", "dS meets K", "dS transposed"}
CAUSAL_FAULTS = {
    "top-left",
    "top-left mask",
    "offset negated",
    "bound negated",
    "no early end",
    "starts one block late",
    "start rounded up",
    "starts at the top-left diagonal",
    "ends one block early",
    "ends at the last key",
    "ends at the top-left diagonal",
}
"""Faults of the lines under `if IS_CAUSAL`: without a mask they are not made."""
SHARE_FAULTS = {
    "last share missing",
    "last share reached missing",
    "first share alone",
    "first share repeated",
    "last share alone",
    "shares of the first query",
}


@tiled(TILED | SHARE_FAULTS)
def fused_scan(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool,
    owner: str = "keys", faults: Faults = NONE, tile: Tile = (32, 32),
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dQ, dK, dV) in their inputs' dtypes, from one walk over the tiles."""
    causal = causal or "always causal" in faults
    x = scan_of(q, k, v, o, do, lse, alpha, causal, faults if causal else faults - CAUSAL_FAULTS)
    sums = tuple(torch.zeros_like(load_rows(t, range(_padded(t, side)))) for t, side in _sides(x, tile))
    shared = _Shared(x, owner, tile)
    for own in range(0, (k if owner == "keys" else q).shape[2], tile[owner == "keys"]):
        for start in _steps(x, own, owner, tile):
            rows, columns = _places(own, start, owner, tile)
            shares = _shares(x, rows, columns, tile)
            for index, (total, at) in enumerate(zip(sums, (rows, columns, columns), strict=True)):
                place = total[:, :, at.start : at.stop]
                if index in shared.outputs:
                    shared.add(place, shares[index], index, own, start)
                elif "last tile alone" in faults:
                    place.copy_(shares[index])
                else:
                    place += shares[index]
    if "one sum for all heads" in faults:
        shared.gather(sums)
    return _finished(x, *(t[:, :, : s.shape[2]] for t, s in zip(sums, (q, k, v), strict=True)), q.dtype)


def _sides(x: Scan, tile: Tile) -> tuple[tuple[Tensor, int], ...]:
    return (x.q, tile[0]), (x.k, tile[1]), (x.v, tile[1])


def _padded(t: Tensor, side: int) -> int:
    return -(-t.shape[2] // side) * side + side  # one tile more, for loops that run too far


def _steps(x: Scan, own: int, owner: str, tile: Tile) -> range:
    """Where the steps of the program that owns the block from `own` on begin."""
    if owner == "keys":
        begin, end = scanned_queries(x, own, tile)
        return range(begin, min(end, x.q.shape[2]), tile[0])
    begin, end = scanned_keys(x, own, tile)
    return range(begin, min(end, x.k.shape[2]), tile[1])


def _places(own: int, start: int, owner: str, tile: Tile) -> tuple[range, range]:
    row, column = (start, own) if owner == "keys" else (own, start)
    return range(row, row + tile[0]), range(column, column + tile[1])


class _Shared:
    """The sums that several programs have shares of: dQ, or dK and dV."""

    def __init__(self, x: Scan, owner: str, tile: Tile):
        self.faults = x.faults
        self.reach = x.offset if x.causal else x.k.shape[2]
        self.tile = tile
        self.outputs = (0,) if owner == "keys" else (1, 2)
        length, side = (x.k.shape[2], tile[1]) if owner == "keys" else (x.q.shape[2], tile[0])
        self.last = (length - 1) // side * side
        self.first: dict[tuple[int, int], Tensor] = {}

    def add(self, place: Tensor, share: Tensor, index: int, own: int, start: int) -> None:
        """Add the share that the program of block `own` has of one tile."""
        first = self.first.setdefault((index, start), share)
        if "last share alone" in self.faults:
            place.copy_(share)
        elif "first share repeated" in self.faults:
            place += first
        elif not self._left_out(own, start):
            place += share

    def _left_out(self, own: int, start: int) -> bool:
        """Whether the sum of this tile's shares is one that leaves out that of block `own`."""
        seen = start + self.tile[0] - 1 + self.reach
        return (
            (
                "last share reached missing" in self.faults
                and own == min(self.last, seen // self.tile[1] * self.tile[1])
            )
            or ("last share missing" in self.faults and own == self.last)
            or ("first share alone" in self.faults and own > 0)
            or ("shares of the first query" in self.faults and own > start + self.reach)
        )

    def gather(self, sums: tuple[Tensor, ...]) -> None:
        """All heads' sums in the place of the first head's."""
        for index in self.outputs:
            total = sums[index].sum(dim=(0, 1))
            sums[index].zero_()
            sums[index][0, 0] = total


def _shares(x: Scan, rows: range, columns: range, tile: Tile) -> tuple[Tensor, Tensor, Tensor]:
    """What one tile adds to dQ, dK and dV, before alpha."""
    at: At = rows
    if "clamped rows" in x.faults:
        at = positions(rows).clamp(max=x.q.shape[2] - 1)
    q, o, do = (load_rows(t, at) for t in (x.q, x.o, x.do))
    k, v = (load_rows(t, columns) for t in (x.k, x.v))
    p, ds = p_and_ds(x, q, k, v, o, do, lse_of(x, at, math.inf), at, columns)
    if "alpha in dS" in x.faults:
        ds = x.alpha * ds
    p, ds = x.rounded(p), rounded_ds(x, ds)
    if x.faults & NOT_TRANSPOSED:
        require_square_tile(rows, columns)
    dq = (ds.mT if "dS transposed" in x.faults else ds) @ (v if "dS meets V" in x.faults else k)
    to_dk = k if "dS meets K" in x.faults else do if "dS meets dO" in x.faults else q
    dk = (ds if "dS not transposed" in x.faults else ds.mT) @ to_dk
    weights = ds if "dV from dS" in x.faults else p
    dv = (weights if "P not transposed" in x.faults else weights.mT) @ (o if "dV from O" in x.faults else do)
    return dq, dk, dv


def _finished(x: Scan, dq: Tensor, dk: Tensor, dv: Tensor, dtype: torch.dtype) -> tuple[Tensor, ...]:
    """Alpha where it belongs, but for the faults, and the outputs' dtype."""
    dq = dq if "alpha not on dQ" in x.faults else x.alpha * dq
    dk = dk if "alpha not on dK" in x.faults else x.alpha * dk
    if "alpha twice on dQ" in x.faults:
        dq = x.alpha * dq
    if "alpha twice on dK" in x.faults:
        dk = x.alpha * dk
    if "alpha without its sign at the end" in x.faults and x.alpha < 0:
        dq, dk = -dq, -dk
    if "alpha on dV" in x.faults:
        dv = x.alpha * dv
    if "exchanged" in x.faults:
        dk, dv = dv, dk
    return dq.to(dtype), dk.to(dtype), dv.to(dtype)
