"""Which tile of queries a program of the forward pass takes next, and how its producer tells its consumers.

Programs stay: each takes tile after tile. Without a mask all tiles cost the same and are dealt out in turn.
Under a causal mask they do not: the longest come first, and who is done fetches the next number from a
counter in global memory. Only the producer does that; the consumers learn the number through shared memory,
guarded by barriers as the blocks of keys are. (FlashAttention-3's causal schedule has the same purpose.)
"""

from __future__ import annotations

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

__all__ = ["ROWS", "announce", "learn", "tile_at"]

ROWS = gl.constexpr(64)
"""Queries of one consumer warpgroup: the rows of one WGMMA instruction."""


@gluon.jit
def tile_at(
    tile, sizes, CAUSAL: gl.constexpr, BLOCK_Q: gl.constexpr, BLOCK_K: gl.constexpr,
):  # fmt: skip
    # where a tile of queries lies, and its blocks of keys: `blocks` in all, of which the first `whole` are
    # seen by every query of the tile
    H, H_K, S_q, S_k, GROUP, TILES, total = sizes  # noqa: RUF059
    in_group = tile % (GROUP * TILES)
    bh = tile // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if CAUSAL:
        block = TILES - 1 - block
    b, h = bh // H, bh % H
    first_row = block * BLOCK_Q
    end, seen_by_all = S_k, S_k
    if CAUSAL:
        end = gl.minimum(S_k, first_row + BLOCK_Q + S_k - S_q)
        seen_by_all = gl.minimum(S_k, gl.maximum(first_row + S_k - S_q + 1, 0))
    blocks = gl.maximum((end + BLOCK_K - 1) // BLOCK_K, 1)  # who sees nothing scans one block, all masked
    return b, h, h // (H // H_K), first_row, blocks, gl.minimum(seen_by_all // BLOCK_K, blocks - 1)


@gluon.jit
def announce(tile, next_tile, tile_known, tile_read, turn):
    # the producer's word to the consumers, by turns in one of two places
    place, phase = turn % 2, turn // 2 % 2
    mbarrier.wait(tile_read.index(place), phase ^ 1)
    next_tile.index(place).store(gl.full([1], tile, gl.int32, layout=gl.BlockedLayout([1], [32], [1], [0])))
    mbarrier.arrive(tile_known.index(place), count=1)


@gluon.jit
def learn(next_tile, tile_known, tile_read, turn):
    place, phase = turn % 2, turn // 2 % 2
    mbarrier.wait(tile_known.index(place), phase)
    tile = gl.max(next_tile.index(place).load(gl.BlockedLayout([1], [32], [4], [0])), axis=0)
    mbarrier.arrive(tile_read.index(place), count=1)
    return tile
