"""Probes of a GPU's memory: latency by chasing a pointer, bandwidth by streaming, and what strides cost.

    >>> machine = measure()                    # on a GPU, some ten seconds and 3 GB of its memory
    >>> machine["latency"]["HBM"]              # nanoseconds of one load that depends on the one before
    >>> SAVED["device"]                        # the same from another machine, for those without a GPU

A chase is a loop whose next address is what the last load brought, so that no two loads overlap: time
divided by hops is latency. A stream keeps as many loads in flight as it can: bytes by time is bandwidth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
import triton
import triton.language as tl
from triton.runtime.errors import OutOfResources

from flashlearn.kernels.matmul import tiled_matmul
from flashlearn.machine.device import GPU, GPUS, for_target

MIB, GIB = 2**20, 2**30
HOPS = 4096
LEVELS = {"L1": 16 * 2**10, "L2": 8 * MIB, "HBM": GIB // 2}
"""Bytes that a chase wanders over, chosen to fit the level and none above it."""

_SHARED_CHASE = (
    "{ .shared .align 4 .b32 cell; .reg .b32 at, home;\n"
    "mov.u32 home, cell;\nst.volatile.shared.b32 [home], home;\nadd.u32 at, home, $1;\n"
    + "ld.volatile.shared.b32 at, [at];\n" * 64
    + "sub.u32 $0, at, home; }"
)


@triton.jit
def chase_kernel(next_ptr, out_ptr, hops):
    at = tl.load(next_ptr)
    for _ in range(hops):
        at = tl.load(next_ptr + at)
    tl.store(out_ptr, at)


@triton.jit
def shared_chase_kernel(out_ptr, hops, ASM: tl.constexpr):
    lane = tl.arange(0, 32)
    at = tl.zeros((32,), tl.int32)
    for _ in range(0, hops, 64):
        at = tl.inline_asm_elementwise(ASM, "=r,r", [at], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out_ptr + lane, at)


@triton.jit
def stream_kernel(
    x_ptr, out_ptr, tiles, rounds, GROUP: tl.constexpr, TILE: tl.constexpr, UNROLL: tl.constexpr
):
    # each round reads UNROLL tiles, 16 bytes per load, past L1 (.cg); GROUP neighbours read the same
    pid, step, lane = tl.program_id(0), tl.num_programs(0) // GROUP, tl.arange(0, TILE)
    acc = tl.zeros((TILE,), tl.float32)
    at = pid // GROUP
    for _ in range(rounds):
        for u in tl.static_range(UNROLL):
            tile = ((at + u * step) % tiles).to(tl.int64)
            acc += tl.load(x_ptr + tile * TILE + lane, cache_modifier=".cg")
        at = (at + UNROLL * step) % tiles
    tl.store(out_ptr + pid, tl.sum(acc, axis=0))


@triton.jit
def strided_kernel(x_ptr, out_ptr, stride, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride)
    tl.store(out_ptr + pid, tl.sum(x, axis=0))


def latency(size: int) -> float:
    """Nanoseconds of one dependent load in a random cycle over `size` bytes, one per 128-byte line."""
    lines = size // 128
    order = torch.randperm(lines, device="cuda")
    cycle = torch.zeros(size // 8, dtype=torch.int64, device="cuda")
    cycle[order * 16] = order.roll(-1) * 16
    out = torch.empty(1, dtype=torch.int64, device="cuda")
    hops = HOPS * 4
    if size <= LEVELS["L2"]:
        chase_kernel[(1,)](cycle, out, lines, num_warps=1)  # a first walk brings the lines in
    return _nanoseconds(lambda: chase_kernel[(1,)](cycle, out, hops, num_warps=1), size > LEVELS["L2"]) / hops


def shared_latency() -> float:
    """Nanoseconds of one dependent load from shared memory, by a chain of loads in PTX."""
    out = torch.empty(32, dtype=torch.int32, device="cuda")
    hops = HOPS * 16
    return _nanoseconds(lambda: shared_chase_kernel[(1,)](out, hops, ASM=_SHARED_CHASE, num_warps=1)) / hops


def bandwidth(size: int, group: int = 1) -> float:
    """Bytes per second of reading `size` bytes over and over, from every SM at once, past L1.

    `group` neighbouring programs read the same bytes at the same time. Several shapes are
    tried, and the best counts: what one of them does not reach, another does.
    """
    return max(_streamed(size, group, *shape) for shape in STREAMS)


STREAMS = ((4, 16, 4, 4), (8, 16, 4, 4), (4, 32, 2, 4), (16, 16, 2, 2))
"""Warps, numbers per thread, loads unrolled, programs per multiprocessor."""


def _streamed(size: int, group: int, warps: int, per_thread: int, unroll: int, per_sm: int) -> float:
    tile = warps * 32 * per_thread
    programs = torch.cuda.get_device_properties(0).multi_processor_count * per_sm // group * group
    if programs // group * tile * 4 > size:  # programs would meet on the same bytes
        return 0.0
    x, out = torch.ones(size // 4, device="cuda"), torch.empty(programs, device="cuda")
    rounds = 16 * GIB // (programs * tile * 4 * unroll)
    blocks = {"GROUP": group, "TILE": tile, "UNROLL": unroll, "num_warps": warps, "num_stages": 1}

    def stream() -> None:
        stream_kernel[(programs,)](x, out, x.numel() // tile, rounds, **blocks)

    stream()  # a first run brings the bytes in
    ns = _nanoseconds(stream, flush=False)
    return programs * rounds * unroll * tile * 4 / (ns * 1e-9)


def strided_bandwidth(stride: int) -> float:
    """Useful bytes per second when every `stride`-th fp32 number of a large vector is read."""
    BLOCK, count = 1024, min(2**26, 2**29 // stride)
    x = torch.ones(count * stride, device="cuda")
    out = torch.empty(count // BLOCK, device="cuda")
    ns = _nanoseconds(lambda: strided_kernel[(count // BLOCK,)](x, out, stride, BLOCK=BLOCK, num_warps=4))
    return count * 4 / (ns * 1e-9)


def matmul_rate(n: int, block: tuple[int, int, int], **options: int) -> float | None:
    """Operations per second of `tiled_matmul` on two n × n matrices in fp16; None where it does not fit."""
    a, b = torch.randn(2, n, n, device="cuda", dtype=torch.float16).unbind(0)
    M, N, K = block
    try:
        ns = _nanoseconds(lambda: tiled_matmul(a, b, BLOCK_M=M, BLOCK_N=N, BLOCK_K=K, **options))
    except OutOfResources:  # a smaller GPU's shared memory
        return None
    return 2 * n**3 / (ns * 1e-9)


def measure(n: int = 4096) -> dict[str, Any]:
    """All probes on this GPU: what `SAVED` holds from another one. Rates by (block shape, warps)."""
    rates = {
        (block, warps): matmul_rate(n, block, num_warps=warps, num_stages=s) for block, warps, s in MATMULS
    }
    rates = {key: rate for key, rate in rates.items() if rate}
    a, b = torch.randn(2, n, n, device="cuda", dtype=torch.float16).unbind(0)
    return {
        "device": torch.cuda.get_device_name(),
        "triton": triton.__version__,
        "latency": {"shared": shared_latency(), **{k: latency(size) for k, size in LEVELS.items()}},
        "bandwidth": {
            "L2": max(bandwidth(16 * MIB), bandwidth(32 * MIB)),
            "L2, shared": bandwidth(16 * MIB, group=2),
            "HBM": bandwidth(2 * GIB),
        },
        "strided": {s: strided_bandwidth(s) for s in (1, 2, 4, 8, 16, 32)},
        "n": n,
        "matmul": rates,
        "torch": 2 * n**3 / (_nanoseconds(lambda: a @ b) * 1e-9),
    }


MATMULS = (
    ((16, 16, 16), 4, 3),
    ((32, 64, 16), 4, 3),
    ((64, 64, 32), 4, 3),
    ((128, 128, 32), 4, 3),
    ((128, 128, 64), 8, 3),
    ((128, 256, 64), 8, 3),
    ((128, 256, 32), 8, 2),
    ((128, 256, 32), 4, 2),
)


SAVED: dict[str, Any] = {
    "device": "NVIDIA H200",
    "triton": "3.6.0",
    "latency": {"shared": 11.7, "L1": 25.4, "L2": 153.0, "HBM": 341.0},
    "bandwidth": {"L2": 1.04e13, "L2, shared": 1.61e13, "HBM": 4.43e12},
    "strided": {1: 3.73e12, 2: 2.07e12, 4: 1.09e12, 8: 5.61e11, 16: 2.81e11, 32: 2.30e11},
    "n": 4096,
    "matmul": {
        ((16, 16, 16), 4): 1.97e13,
        ((32, 64, 16), 4): 1.28e14,
        ((64, 64, 32), 4): 3.18e14,
        ((128, 128, 32), 4): 5.22e14,
        ((128, 128, 64), 8): 5.56e14,
        ((128, 256, 64), 8): 5.90e14,
        ((128, 256, 32), 8): 2.68e14,
        ((128, 256, 32), 4): 1.00e14,
    },
    "torch": 7.18e14,
}
"""What `measure` gave on one NVIDIA H200 with triton 3.6.0, to three digits."""

H200 = replace(GPUS["H100"], name="H200", bandwidth=4.8e12)
"""The GPU of `SAVED`: an H100's chip with faster memory (NVIDIA H200 Tensor Core GPU data sheet)."""


def data_sheet(name: str, target: int = 90) -> GPU:
    """The data sheet of a GPU by the name that torch gives it, or of its generation's best known one."""
    known = [gpu for gpu in (H200, *GPUS.values()) if gpu.name in name]
    return known[0] if known else for_target(target)


def _nanoseconds(function: Any, flush: bool = True) -> float:
    """The median time of a call; do_bench clears L2 between calls, which a chase in L2 must not have."""
    if flush:
        return 1e6 * triton.testing.do_bench(function, warmup=20, rep=100, return_mode="median")
    times = []
    for _ in range(7):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return 1e6 * sorted(times)[3]


if __name__ == "__main__":
    from pprint import pprint

    pprint(measure(), sort_dicts=False, underscore_numbers=True)
