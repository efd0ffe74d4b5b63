"""What can be known of a configuration before it runs: where its loops split, what it takes, who comes first.

>>> loop_bounds(128, 128, 64, 1024, 1024)       # the block of queries 128 to 255, causal
(128, 256)
>>> forward_budget(128, 128, 128, 2, 3, 8)      # shared bytes, fp32 accumulators per thread
(229376, 128)
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp


def loop_bounds(first: Any, block_q: Any, block_k: Any, S_q: Any, S_k: Any) -> tuple[Any, Any]:
    """(whole, end) for the block of queries from `first` on, causal, bottom-right.

    Keys below `whole` are seen by all of the block's queries, in whole tiles; from `end` on by none.
    """
    seen_by_first = max(0, min(S_k, first + 1 + S_k - S_q))
    end = max(0, min(S_k, first + block_q + S_k - S_q))
    return seen_by_first // block_k * block_k, end


def program_to_tile(pid: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    """(block of queries, head) of program `pid`: the last block of every head first, then the one before."""
    return blocks - 1 - pid // heads, pid % heads


def program_in_group(pid: Any, blocks: Any, heads: Any, group: Any) -> tuple[Any, Any]:
    """(block of queries, head) of program `pid`: that order within a group of heads, groups in turn."""
    number, in_group = pid // (group * blocks), pid % (group * blocks)
    block, head = program_to_tile(in_group, blocks, group)
    return block, number * group + head


def masked_tiles(first: Any, block_q: Any, block_k: Any, edge: Any, S: Any) -> tuple[Any, Any]:
    """(tiles of `edge` keys of the second loop, keys in them that the block's last query does not see)."""
    whole, end = loop_bounds(first, block_q, block_k, S, S)
    tiles = -(-(end - whole) // edge)
    return tiles, whole + tiles * edge - end


def fixed_share(pid: Any, programs: Any, blocks: Any, heads: Any) -> tuple[Any, Any]:
    """(blocks of queries, tiles of keys) that program `pid` of a persistent kernel computes, causal.

    Its blocks are every `programs`-th in the order of `program_to_tile`; block n visits n + 1 tiles.
    """
    numbers = range(pid, blocks * heads, programs)
    return len(numbers), sum(program_to_tile(number, blocks, heads)[0] + 1 for number in numbers)


def forward_budget(block_q: Any, block_k: Any, D: Any, size: Any, stages: Any, warps: Any) -> tuple[Any, Any]:
    """(bytes of shared memory, accumulators per thread) of a forward pass with wgmma.

    Q's tile lies in shared memory once, those of K and V once per stage, of which there are two at least; S
    and the sum for O are fp32, in registers.
    """
    shared = size * D * (block_q + 2 * stages * block_k)
    return shared, sp.Rational(block_q * (block_k + D), 32 * warps)


def makespan(work: Sequence[float], machines: int) -> tuple[float, list[tuple[int, float, float]]]:
    """When all is done if each free machine takes the next piece; and (machine, start, end) of each piece."""
    free = [(0.0, machine) for machine in range(machines)]
    pieces = []
    for amount in work:
        start, machine = heapq.heappop(free)
        pieces.append((machine, start, start + amount))
        heapq.heappush(free, (start + amount, machine))
    return max(end for _, _, end in pieces), pieces


def causal_work(
    order: Callable[[int, int, int], tuple[int, int]], blocks: int, heads: int, tiles_per_block: int = 2
) -> list[int]:
    """How many tiles of keys each program visits, by program number, for S_q = S_k."""
    programs = (order(pid, blocks, heads) for pid in range(blocks * heads))
    return [(int(block) + 1) * tiles_per_block for block, _ in programs]
