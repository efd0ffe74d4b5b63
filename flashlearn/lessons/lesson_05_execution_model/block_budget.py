"""What a block of a tiled product needs of one multiprocessor: lesson 05's `budget`, part by part."""

from __future__ import annotations

from typing import Any

import sympy as sp

from flashlearn.machine import device

WARP, RESERVED = 32, 1024
BUDGET_ARGUMENTS = ("block_m", "block_n", "block_k", "size", "buffers", "warps", "registers")
"""The arguments of `budget` that are numbers; its last argument, gpu, is a `device.GPU`."""


def accumulator_registers(block_m: int, block_n: int, warps: int) -> Any:
    """Registers per thread that hold the fp32 accumulator."""
    return sp.Rational(block_m * block_n, WARP * warps)


def staged_bytes(block_m: int, block_n: int, block_k: int, size: int, buffers: int) -> Any:
    """Shared memory that holds `buffers` pairs of a tile of A and a tile of B."""
    return buffers * (block_m * block_k + block_k * block_n) * size


def blocks_by_registers(registers: int, warps: int, gpu: device.GPU) -> Any:
    """How many blocks' registers one multiprocessor has; each thread gets a multiple of 8."""
    per_thread = -(-registers // 8) * 8
    return gpu.registers_per_sm // (per_thread * WARP * warps)


def blocks_by_shared(shared: int, gpu: device.GPU) -> Any:
    """How many blocks' shared memory one multiprocessor has, with 1 KiB of the system's for each."""
    return gpu.shared_per_sm // (shared + RESERVED)


def block_budget(
    block_m: int, block_n: int, block_k: int, size: int, buffers: int, warps: int, registers: int,
    gpu: device.GPU,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """(accumulator registers per thread, shared bytes per block, occupancy) of a tiled product's blocks."""
    shared = staged_bytes(block_m, block_n, block_k, size, buffers)
    blocks = min(
        gpu.blocks_per_sm,
        gpu.warps_per_sm // warps,
        blocks_by_registers(registers, warps, gpu),
        blocks_by_shared(shared, gpu),
    )
    return (
        accumulator_registers(block_m, block_n, warps),
        shared,
        sp.Rational(blocks * warps, gpu.warps_per_sm),
    )
