"""Which tiles a program visits: its block, from the grid or from a list, and the part of a scan that it sees.

    >>> tiles = tile_list(torch.tensor([0, 3, 3, 70], dtype=torch.int32), block=64, rows=70)
    >>> tiles                                     # (sequence, block) each; −1: none
    tensor([[ 0,  0],
            [ 2,  0],
            [ 2,  1],
            [-1, -1]], dtype=torch.int32)

Sequences of different lengths lie one after another in one tensor. How many tiles they have is known on the
GPU alone; but it is never more than rows // block + sequences, which is the length of the list. So no launch
waits for a number from the GPU, and no tile is visited that holds nothing.
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from flashlearn.kernels.compiled_launches import Call

__all__ = [
    "CHUNK",
    "capacity",
    "inside",
    "list_call",
    "place",
    "scanned_keys",
    "scanned_queries",
    "tile_list",
]

CHUNK = 128
"""Sequences, or tiles, that a program of `tile_list_kernel` looks at at once."""


@triton.jit(do_not_specialize=["sequences", "length"])
def tile_list_kernel(cu_ptr, list_ptr, sequences, length, BLOCK: tl.constexpr, CHUNK: tl.constexpr):
    # a program writes the tiles of its sequence: reads sequences + 1 numbers, writes 2 · tiles
    own = tl.program_id(0)
    before = 0
    for start in range(0, own, CHUNK):
        z = start + tl.arange(0, CHUNK)
        ends = tl.load(cu_ptr + z + 1, mask=z < own, other=0)
        starts = tl.load(cu_ptr + z, mask=z < own, other=0)
        before += tl.sum(tl.maximum(ends - starts + BLOCK - 1, 0) // BLOCK, axis=0)
    rows = tl.load(cu_ptr + own + 1) - tl.load(cu_ptr + own)
    count = tl.maximum(rows + BLOCK - 1, 0) // BLOCK
    for start in range(0, count, CHUNK):
        block = start + tl.arange(0, CHUNK)
        at = list_ptr + 2 * (before + block)
        listed = (block < count) & (before + block < length)
        tl.store(at, block * 0 + own, mask=listed)
        tl.store(at + 1, block, mask=listed)
    if own == sequences - 1:  # the last one fills up
        for start in range(before + count, length, CHUNK):
            n = start + tl.arange(0, CHUNK)
            tl.store(list_ptr + 2 * n, n * 0 - 1, mask=n < length)
            tl.store(list_ptr + 2 * n + 1, n * 0 - 1, mask=n < length)


def capacity(sequences: int, rows: int, block: int) -> int:
    """At most this many tiles of `block` rows do `sequences` of `rows` rows together have."""
    return rows // block + sequences


def list_call(cu: Tensor, tiles: Tensor, block: int) -> Call:
    """The launch that fills `tiles` [capacity, 2] from the bounds `cu` [sequences + 1]."""
    sequences = cu.shape[0] - 1
    arguments = (cu, tiles, sequences, tiles.shape[0])
    return Call(tile_list_kernel, (sequences,), arguments, {"BLOCK": block, "CHUNK": CHUNK})


def tile_list(cu: Tensor, block: int, rows: int) -> Tensor:
    """(sequence, block) of every tile, [capacity, 2] in int32; −1 where there is none."""
    tiles = cu.new_empty((capacity(cu.shape[0] - 1, rows, block), 2))
    call = list_call(cu, tiles, block)
    call.kernel[call.grid](*call.arguments, **call.constants)
    return tiles


@triton.jit
def bounds(cu_ptr, sequence, rows):
    # first row and length of a sequence, inside the tensor whatever the numbers say
    first = tl.minimum(tl.maximum(tl.load(cu_ptr + sequence), 0), rows)
    after = tl.minimum(tl.maximum(tl.load(cu_ptr + sequence + 1), first), rows)
    return first, after - first


@triton.jit
def place(
    tiles_ptr, cu_q_ptr, cu_k_ptr, HEADS, S_q, S_k, GROUP, TILES,
    LAST_FIRST: tl.constexpr, VARLEN: tl.constexpr,
):  # fmt: skip
    # of this program: batch and head, sequence, block, and where that sequence's queries and keys lie.
    # program ids count blocks, the same block of GROUP heads in a row; the grid has one axis
    pid = tl.program_id(0)
    in_group = pid % (GROUP * TILES)
    bh = pid // (GROUP * TILES) * GROUP + in_group % GROUP
    block = in_group // GROUP
    if LAST_FIRST:
        block = TILES - 1 - block
    b, h = bh // HEADS, bh % HEADS
    sequence, first_q, first_k = b, 0, 0
    if VARLEN:
        listed = tl.load(tiles_ptr + 2 * block)
        block = tl.maximum(tl.load(tiles_ptr + 2 * block + 1), 0)
        sequence = tl.maximum(listed, 0)
        first_q, S_q = bounds(cu_q_ptr, sequence, S_q)
        first_k, S_k = bounds(cu_k_ptr, sequence, S_k)
        S_q = tl.where(listed < 0, 0, S_q)  # no tile: nothing to scan, nothing to store
        S_k = tl.where(listed < 0, 0, S_k)
    return b, h, sequence, block, first_q, first_k, S_q, S_k


@triton.jit
def scanned_keys(
    first_row, S_q, S_k, left, right, LEFT: tl.constexpr, RIGHT: tl.constexpr, BOUNDED: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_EDGE: tl.constexpr,
):  # fmt: skip
    # the keys that queries first_row … + BLOCK_Q − 1 see: masked from `first` on, whole blocks of BLOCK_K
    # that all of them see from `whole` to `edge`, masked again to `end`
    at_query = first_row + S_k - S_q
    first, whole, edge, end = 0, 0, S_k, S_k
    if RIGHT:
        end = tl.minimum(S_k, at_query + BLOCK_Q + right)
        edge = tl.minimum(S_k, tl.maximum(at_query + right + 1, 0))
    if LEFT:
        first = tl.maximum(at_query - left, 0) // 16 * 16
        all_see = tl.maximum(at_query + BLOCK_Q - 1 - left, 0)
        whole = first + tl.cdiv(all_see - first, BLOCK_EDGE) * BLOCK_EDGE
        whole = tl.minimum(whole, tl.maximum(end, first))
    if BOUNDED:
        edge = whole + tl.maximum(edge - whole, 0) // BLOCK_K * BLOCK_K
    return first, whole, edge, end


@triton.jit
def scanned_queries(
    first_column, S_q, S_k, left, right, LEFT: tl.constexpr, RIGHT: tl.constexpr, VARLEN: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    # the queries that see keys first_column … + BLOCK_K − 1, as `scanned_keys` returns keys. Without VARLEN
    # queries after the last one have LSE = +inf, and are seen unmasked
    shift = S_k - S_q
    first, whole, edge, end = 0, 0, S_q, S_q
    if LEFT:
        end = tl.minimum(S_q, tl.maximum(first_column + BLOCK_K + left - shift, 0))
        edge = tl.minimum(S_q, tl.maximum(first_column + left - shift + 1, 0))
    if RIGHT:
        first = tl.maximum(first_column - right - shift, 0) // BLOCK_Q * BLOCK_Q
        all_see = tl.maximum(first_column + BLOCK_K - 1 - right - shift, 0)
        whole = first + tl.cdiv(all_see - first, BLOCK_Q) * BLOCK_Q
        whole = tl.minimum(whole, tl.maximum(end, first))
    if VARLEN:  # a block that reaches into the next sequence comes last
        whole = tl.minimum(whole, first + tl.maximum(S_q - first, 0) // BLOCK_Q * BLOCK_Q)
    if LEFT or VARLEN:
        edge = whole + tl.maximum(edge - whole, 0) // BLOCK_Q * BLOCK_Q
    return first, whole, edge, end


@triton.jit
def inside(first, end, S_k, BLOCK: tl.constexpr):
    # where blocks from `first` to `end` begin to reach beyond S_k: only the last one can
    last = first + tl.maximum(tl.cdiv(end - first, BLOCK) - 1, 0) * BLOCK
    return tl.where(last + BLOCK > S_k, tl.minimum(last, tl.maximum(end, first)), tl.maximum(end, first))
