"""Which device there is, what three well-known GPUs can do, and how full a kernel keeps them.

>>> attainable(GPUS["H100"], operations=1e12, bytes=1e9, half=True)      # seconds, by the roofline
0.00101...
>>> occupancy(GPUS["A100"], registers=222, shared=65536, warps=4)        # warps resident / warps possible
0.125
"""

from __future__ import annotations

import functools
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MIN_TARGET = 80
"""Ampere: the first generation with bf16 tensor cores and asynchronous copies, which the course builds on."""


@dataclass(frozen=True)
class GPU:
    """Peak figures of one GPU, as its maker publishes them; nothing here was measured.

    `bandwidth` in bytes/s, `fp32` and `half` in operations/s (a multiply-add is two; `half` is dense
    fp16 or bf16 on tensor cores with fp32 accumulation), `shared_per_sm`, `shared_per_block` and `l2`
    in bytes.
    """

    name: str
    target: int
    sms: int
    bandwidth: float
    fp32: float
    half: float
    shared_per_sm: int
    shared_per_block: int
    registers_per_sm: int
    l2: int
    warps_per_sm: int
    blocks_per_sm: int


KIB, MIB, GIB = 2**10, 2**20, 2**30

GPUS: dict[str, GPU] = {
    gpu.name: gpu
    for gpu in (
        GPU("A100", 80, 108, 2.039e12, 19.5e12, 312e12, 164 * KIB, 163 * KIB, 65536, 40 * MIB, 64, 32),
        GPU("H100", 90, 132, 3.35e12, 67e12, 989e12, 228 * KIB, 227 * KIB, 65536, 50 * MIB, 64, 32),
        GPU("RTX 4090", 89, 128, 1.008e12, 82.6e12, 165e12, 100 * KIB, 99 * KIB, 65536, 72 * MIB, 48, 24),
    )
}
"""Three GPUs by name. Bandwidth and arithmetic: NVIDIA's A100 (SXM, 80 GB) and H100 (SXM, 80 GB) Tensor Core
GPU data sheets, the latter's figures halved where they count sparsity, and the Ada architecture white paper,
appendix A, for the RTX 4090. Limits per multiprocessor and per block: the CUDA C++ Programming Guide, table
of technical specifications per compute capability. L2: the architecture white papers."""


def shared_memory_sentence(needed: int, constants: str = "") -> str:
    """What a kernel that needs more than a block can have is told, the same on every machine.

    `constants` are the kernel's compile-time constants, "BLOCK_Q=64, BLOCK_D=256": the sizes of its blocks
    are named as what to change, except for those of D, which the input decides. The limits are those of the
    CUDA C++ Programming Guide's table of technical specifications per compute capability.
    """
    named = [part.strip().split("=") for part in constants.split(",") if part.count("=") == 1]
    blocks = [f"{n} (now {v})" for n, v in named if v.isdigit() and int(v) > 16 and not n.endswith("_D")]
    smaller = f"make {' or '.join(blocks)} smaller" if blocks else "take smaller blocks"
    return (
        f"A block of this kernel needs {needed / KIB:.4g} KiB of shared memory. It can have 227 KiB on "
        f"sm_90, 163 KiB on sm_80, and 99 KiB on sm_86, sm_89 and sm_120: {smaller}, or use fewer stages."
    )


def for_target(target: int) -> GPU:
    """The named GPU of a compute capability such as 80 or 90. Raises `KeyError` for another."""
    for gpu in GPUS.values():
        if gpu.target == target:
            return gpu
    known = ", ".join(f"{gpu.target} ({gpu.name})" for gpu in GPUS.values())
    raise KeyError(f"no GPU of compute capability {target} is known here; known are {known}")


@functools.cache
def capability() -> int | None:
    """The compute capability of the GPU that is here, 90 for 9.0; None without a CUDA GPU that answers."""
    import torch

    if torch.version.cuda is None or not torch.cuda.is_available():
        return None
    major, minor = torch.cuda.get_device_capability()
    return 10 * major + minor


@functools.cache
def has_gpu() -> bool:
    """Whether a CUDA GPU of compute capability 8.0 or newer is present and answers."""
    return (capability() or 0) >= MIN_TARGET


def runs(needed: int) -> bool:
    """Whether there is a GPU here, and one of this compute capability or a newer one."""
    return has_gpu() and (capability() or 0) >= needed


def mode() -> Literal["observed", "compiled"]:
    """How kernels run here: in the observed interpreter alone, or compiled as well."""
    return "compiled" if has_gpu() else "observed"


def default() -> str:
    """The device that lessons allocate on: "cuda" or "cpu"."""
    return "cuda" if has_gpu() else "cpu"


FP8_MIN_TARGET = 89
"""The first compute capability whose tensor cores multiply e4m3 and e5m2, twice as fast as fp16."""


def attainable(gpu: GPU, operations: float, bytes: float, half: bool, eight: bool = False) -> float:
    """Seconds that a perfect kernel would take: the slower of moving `bytes` and computing `operations`.

    The roofline (Williams, Waterman, Patterson, 2009), as a time instead of a rate. `half` takes the
    tensor cores' rate at fp16 or bf16, `eight` that at fp8, otherwise fp32 without tensor cores.
    """
    rate = 2 * gpu.half if eight else gpu.half if half else gpu.fp32
    return max(bytes / gpu.bandwidth, operations / rate)


def occupancy(gpu: GPU, registers: int, shared: int, warps: int) -> float:
    """Resident warps as a fraction of the most a multiprocessor can hold, for blocks of `warps` warps.

    `registers` per thread, `shared` bytes per block. Rounding as the CUDA occupancy calculator does it:
    registers are handed out per warp in units of 256 from four equal files, shared memory in units
    of 128 bytes with 1 KiB more per block for the system. 0.0 where not even one block fits.
    """
    per_warp = -(-max(registers, 1) * 32 // 256) * 256
    by_registers = 4 * (gpu.registers_per_sm // 4 // per_warp) // warps
    by_shared = gpu.shared_per_sm // (-(-shared // 128) * 128 + KIB)
    blocks = min(gpu.blocks_per_sm, gpu.warps_per_sm // warps, by_registers, by_shared)
    return blocks * warps / gpu.warps_per_sm


@functools.cache
def driver() -> str:
    """The version of NVIDIA's driver; empty if there is none."""
    try:
        found = re.search(r"\b(\d+\.\d+(\.\d+)?)\b", Path("/proc/driver/nvidia/version").read_text())
    except OSError:
        found = None
    return found[1] if found else nvidia_smi_fields("driver_version")[0]


def nvidia_smi_fields(*fields: str) -> tuple[str, ...]:
    """The driver's data on the first GPU, by nvidia-smi's field names; "" for what it does not report."""
    command = ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits", "--id=0"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ("",) * len(fields)
    values = [value.strip() for value in done.stdout.strip().split(",")]
    return tuple(values) if len(values) == len(fields) else ("",) * len(fields)
