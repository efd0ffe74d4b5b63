"""The registers of `warp_specialize`: do the partitions' shares fit into what an SM has?

Registers are given to warpgroups of four warps. A worker of fewer warps shares one, or has one to itself;
what is left of the 65536, or of what `maxnreg` grants the launch, is the default partition's. `setmaxnreg`
moves them, in steps of 8 from 24 to 256 (PTX ISA, "setmaxnreg").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REGISTERS = 65536
FEWEST, MOST, STEP, WARPGROUP, THREADS = 24, 256, 8, 4, 32


def budget(
    warps: int, most: int | None, worker_warps: Sequence[int], worker_registers: Sequence[int]
) -> dict[str, Any] | None:
    """None if the shares add up; else the facts: a "share" that cannot be, or what is "left"."""
    for index, share in enumerate(worker_registers):
        if share % STEP or not FEWEST <= share <= MOST:
            return {"share": share, "worker": index}
    taken, groups = 0, 0
    small: list[tuple[int, int]] = []
    for count, share in zip(worker_warps, worker_registers, strict=True):
        if count % WARPGROUP == 0:
            taken += count * THREADS * share
            groups += count
        else:
            small.append((count, share))
    for count, share in _packed(small):
        taken += count * THREADS * share
        groups += count
    total = REGISTERS if most is None else most * (warps + groups) * THREADS
    total = min(total, REGISTERS)
    left = (total - taken) // (warps * THREADS) // STEP * STEP
    if left < FEWEST:
        return {"left": left, "taken": taken, "total": total, "warps": warps}
    return None


def _packed(small: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Workers of fewer than four warps, in their order, packed into warpgroups: (warps, largest share)."""
    packed: list[tuple[int, int]] = []
    used, share = 0, 0
    for count, wanted in small:
        if used + count > WARPGROUP:
            packed.append((WARPGROUP, share))
            used, share = 0, 0
        used, share = used + count, max(share, wanted)
    if used:
        packed.append((WARPGROUP, share))
    return packed
