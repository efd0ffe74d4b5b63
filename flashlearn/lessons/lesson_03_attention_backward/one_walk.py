"""dQ from one walk over tiles of keys and values: what is handed out, what is right, and what goes wrong."""

from __future__ import annotations

import ctypes
import gc
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case, Inputs
from flashlearn.lessons.lesson_03_attention_backward.one_head import backward_inputs
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults
from flashlearn.processes import encoding

KEPT_OF_TILES = 0.35
"""What may be in use during a walk that was not before it, as a share of all its tiles."""
LONG = 24 << 20
"""Bytes of tiles from which on that is looked at: torch's first product alone takes 5 MB for its buffers."""
KEPT = (
    "While the tiles passed, {kept:.0f} MB came into use, where all tiles have {all:.0f} MB: they are kept, "
    "or copies of them. What you need of a tile has to be added up while it is there."
)
AGAIN = "You go over the tiles a second time. Here each of them is given once."


@dataclass(frozen=True, eq=False)
class Tiles:
    """Keys and values, [S_k, D] each, in tiles of `block` rows."""

    k: Tensor
    v: Tensor
    block: int

    def at(self, dtype: torch.dtype) -> Iterator[tuple[Tensor, Tensor]]:
        """One pair after the other, at this precision."""
        return iter(zip(self.k.to(dtype).split(self.block), self.v.to(dtype).split(self.block), strict=True))


encoding.register(Tiles)


class OneWalk:
    """The same for one walk: a pair is NaN as soon as the next has come.

    A second walk is an error, and in a long one it is an error to keep the tiles.
    """

    def __init__(self, tiles: Tiles, dtype: torch.dtype):
        self._pairs = tiles.at(dtype)
        self._last: tuple[Tensor, ...] = ()
        self._begun = False
        if tiles.k.nbytes + tiles.v.nbytes >= LONG:
            gc.collect()  # what goes during the walk would hide what comes
        self._least = _in_use()

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        if self._begun:
            raise RuntimeError(AGAIN)
        self._begun = True
        return self._walk()

    def at(self, dtype: torch.dtype) -> Iterator[tuple[Tensor, ...]]:
        """The walk: it has its precision already."""
        return iter(self)

    def _walk(self) -> Iterator[tuple[Tensor, ...]]:
        given = kept = 0
        for pair in self._pairs:
            for tile in self._last:
                tile.mul_(math.nan)  # what is filled is kept by those who watch a launcher
            self._last = tuple(tile.clone() for tile in pair)
            given += sum(tile.nbytes for tile in pair)
            yield self._last
            now = _in_use()
            self._least = min(self._least, now)
            kept = max(kept, now - self._least)
        if given >= LONG and kept > KEPT_OF_TILES * given:
            raise RuntimeError(KEPT.format(kept=kept / 1e6, all=given / 1e6))


class _Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks"),
            *("fordblks", "keepcost"),
        )
    ]


def _in_use() -> int:
    """Bytes that this process holds: Python's small objects, and what glibc gave out where there is one."""
    small = 32 * sys.getallocatedblocks()
    try:
        asked = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError, TypeError):
        return small
    asked.restype = _Mallinfo
    found = asked()
    return small + found.uordblks + found.hblkhd


def inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, do [S_q, D], lse [S_q], the tiles and alpha; `block` is one of the case's sizes."""
    drawn = backward_inputs(case, generator)
    q, k, v, do, alpha = (drawn[name] for name in ("q", "k", "v", "do", "alpha"))
    lse = torch.logsumexp(alpha * q.double() @ k.double().T, dim=1).to(q.dtype)
    return {"q": q, "do": do, "lse": lse, "tiles": Tiles(k, v, case.sizes["block"]), "alpha": alpha}


def call(function: Callable[..., Any], drawn: Inputs) -> Any:
    """Call with tiles that come once, and without autograd."""
    walk = OneWalk(drawn["tiles"], drawn["q"].dtype)
    with torch.no_grad():
        return function(drawn["q"], drawn["do"], drawn["lse"], walk, drawn["alpha"])


def dq(
    q: Tensor, do: Tensor, lse: Tensor, tiles: Tiles | OneWalk, alpha: float, faults: Faults = NONE
) -> Tensor:
    """dQ = alpha (Σ P dP K − delta Σ P K), all sums over one walk, or with faults by name."""
    worth_of_keys, keys = torch.zeros_like(q), torch.zeros_like(q)
    delta, count = torch.zeros_like(q[:, :1]), 0
    for k, v in tiles.at(q.dtype):
        count += 1
        scores = (1.0 if "scores without alpha" in faults else alpha) * q @ k.T
        p = torch.exp(scores - lse[:, None])
        if "softmax of the tile" in faults:
            p = torch.softmax(alpha * q @ k.T, dim=1)
        worth = p * (do @ v.T)
        if faults & {"last tile only", "worth of keys overwritten"}:
            worth_of_keys = torch.zeros_like(q)
        if faults & {"last tile only", "keys overwritten"}:
            keys = torch.zeros_like(q)
        if faults & {"last tile only", "delta overwritten"}:
            delta = torch.zeros_like(delta)
        delta = delta + worth.sum(dim=1, keepdim=True)
        so_far = delta if "delta so far" in faults else torch.zeros_like(delta)
        if "delta of the tile" in faults:
            so_far = worth.sum(dim=1, keepdim=True)
        worth_of_keys = worth_of_keys + (worth - p * so_far) @ k
        keys = keys + p @ k
    if faults & {"no delta", "delta so far", "delta of the tile"}:
        delta = torch.zeros_like(delta)
    if "tiles kept" in faults and count > 1:
        return torch.full_like(q, math.nan)
    if "delta is 1" in faults:
        delta = torch.ones_like(delta)
    return (1.0 if "no alpha" in faults else alpha) * (worth_of_keys - delta * keys)


def dq_with_delta_first(q: Tensor, do: Tensor, lse: Tensor, tiles: Tiles, alpha: float) -> Tensor:
    """The same in two walks: delta, then dS and its product with the keys."""
    pairs = list(tiles.at(q.dtype))
    k, v = (torch.cat(parts) for parts in zip(*pairs, strict=True))
    p, dp = torch.exp(alpha * q @ k.T - lse[:, None]), do @ v.T
    return alpha * (p * (dp - (p * dp).sum(dim=1, keepdim=True))) @ k


def dq_from_shifted_keys(q: Tensor, do: Tensor, lse: Tensor, tiles: Tiles, alpha: float) -> Tensor:
    """The same in one walk with keys relative to the first one, which changes no covariance."""
    worth_of_keys, keys = torch.zeros_like(q), torch.zeros_like(q)
    delta, first = torch.zeros_like(q[:, :1]), None
    for k, v in tiles.at(q.dtype):
        first = k[:1].clone() if first is None else first
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        worth = p * (do @ v.T)
        delta = delta + worth.sum(dim=1, keepdim=True)
        worth_of_keys = worth_of_keys + worth @ (k - first)
        keys = keys + p @ (k - first)
    return alpha * (worth_of_keys - delta * keys)
