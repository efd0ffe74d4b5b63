"""Which device there is, what well-known GPUs can do, and how full a kernel keeps them.

>>> attainable(GPUS["H100"], operations=1e12, bytes=1e9, half=True)      # seconds, by the roofline
0.00101...
>>> occupancy(GPUS["A100"], registers=222, shared=65536, warps=4)        # warps resident / warps possible
0.125
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from flashlearn.later import is_installed

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


MORE: dict[str, GPU] = {
    gpu.name: gpu
    for gpu in (
        GPU("RTX 3060", 86, 28, 0.36e12, 12.7e12, 25.4e12, 100 * KIB, 99 * KIB, 65536, 3 * MIB, 48, 16),
        GPU("B200", 100, 148, 8.0e12, 75e12, 2250e12, 228 * KIB, 227 * KIB, 65536, 126 * MIB, 64, 32),
        GPU("RTX 5090", 120, 170, 1.792e12, 104.8e12, 209.5e12, 100 * KIB, 99 * KIB, 65536, 96 * MIB, 48, 24),
    )
}
"""One GPU of each other compute capability that triton compiles for, so that a budget can be made for it.
Bandwidth and arithmetic: NVIDIA's data sheet of the GeForce RTX 3060 (12 GB), whose tensor cores do 256 fp16
multiply-adds per clock and multiprocessor (Ampere GA102 white paper); the data sheet of the DGX B200, an
eighth of it; the RTX Blackwell white paper, appendix A, for the RTX 5090. Limits: as for `GPUS`."""

SHARED_PER_BLOCK = {
    gpu.target: gpu.shared_per_block
    for gpu in sorted((*GPUS.values(), *MORE.values()), key=lambda g: g.target)
}
"""Bytes of shared memory that a block can have, by compute capability."""
NAMED_LIMITS = (80, 86, 89, 90, 120)
"""The compute capabilities whose limits a sentence names."""


def shared_memory_sentence(
    needed: Mapping[int, int], constants: Mapping[str, int] | None = None, kernel: str = "this kernel"
) -> str:
    """What a kernel that needs more than a block can have is told, the same on every machine.

    `needed` are bytes by compute capability. Of the kernel's compile-time constants the sizes of its blocks
    are named as what to change, except for those of D, which the input decides. The limits are those of the
    CUDA C++ Programming Guide's table of technical specifications per compute capability.
    """
    too_much = [t for t in NAMED_LIMITS if needed.get(t, 0) > SHARED_PER_BLOCK[t]]
    fits = [t for t in NAMED_LIMITS if t in needed and t not in too_much]
    where = f", too little on {_targets(too_much)}" if too_much and fits else ""
    return (
        f"A block of {kernel} needs {_by_target(needed)}. It can have 227 KiB on sm_90, "
        f"163 KiB on sm_80, and 99 KiB on sm_86, sm_89 and sm_120{where}: {smaller_blocks(constants or {})}."
    )


def smaller_blocks(constants: Mapping[str, int]) -> str:
    """What to change of a kernel that takes too much shared memory."""
    blocks = [f"{n} (now {v})" for n, v in constants.items() if _is_size(n, v)]
    smaller = f"make {joined(blocks, 'or')} smaller" if blocks else "take smaller blocks"
    return smaller if constants.get("num_stages") == 1 else f"{smaller}, or use fewer stages"


def _is_size(name: str, value: object) -> bool:
    """Whether a constant is the size of a block that the kernel's author chooses."""
    power = isinstance(value, int) and value > 16 and value & (value - 1) == 0
    return power and not name.endswith("_D") and name not in ("D", "num_warps")


def _by_target(needed: Mapping[int, int]) -> str:
    """«288 KiB of shared memory»; where GPUs differ «97 KiB of shared memory on sm_90, 72 KiB on sm_80 …»."""
    sizes = sorted({needed[t] for t in needed}, reverse=True)
    if len(sizes) == 1:
        return f"{sizes[0] / KIB:.4g} KiB of shared memory"
    groups = [(size, [t for t in sorted(needed) if needed[t] == size]) for size in sizes]
    (first, there), *rest = [(f"{size / KIB:.4g} KiB", f"on {_targets(targets)}") for size, targets in groups]
    return ", ".join([f"{first} of shared memory {there}", *map(" ".join, rest)])


def _targets(targets: Sequence[int]) -> str:
    return joined([f"sm_{target}" for target in targets])


def joined(parts: Sequence[str], word: str = "and") -> str:
    """«a», «a and b», «a, b and c»."""
    return f" {word} ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def for_target(target: int) -> GPU:
    """The named GPU of a compute capability such as 80 or 90. Raises `KeyError` for another."""
    everyone = (*GPUS.values(), *MORE.values())
    for gpu in everyone:
        if gpu.target == target:
            return gpu
    known = ", ".join(f"{gpu.target} ({gpu.name})" for gpu in everyone)
    raise KeyError(f"no GPU of compute capability {target} is known here; known are {known}")


def nearest(target: int) -> GPU:
    """The named GPU of the nearest compute capability at or below this one."""
    below = [known for known in SHARED_PER_BLOCK if known <= target]
    return replace(for_target(max(below, default=min(SHARED_PER_BLOCK))), target=target)


@functools.cache
def present() -> GPU | None:
    """The GPU that is here, with its own name, multiprocessors and shared memory; None without one.

    What torch does not say of it, its peak figures, is taken from the GPU of the nearest capability below.
    """
    target = capability()
    if target is None or not has_gpu():
        return None
    import torch

    like = nearest(target)
    own = torch.cuda.get_device_properties(0)
    name = re.sub(r"^NVIDIA (GeForce )?", "", own.name)
    name = re.sub(r"[ -](SXM|PCIe|\d+ ?GB).*", "", name, flags=re.IGNORECASE).strip()
    return replace(
        like,
        name=name,
        target=target,
        sms=own.multi_processor_count,
        shared_per_block=getattr(own, "shared_memory_per_block_optin", like.shared_per_block),
        shared_per_sm=getattr(own, "shared_memory_per_multiprocessor", like.shared_per_sm),
    )


def shared_per_block() -> int:
    """Bytes of shared memory that a block can have on the GPU that is here; without one, the least of any."""
    here = present()
    return here.shared_per_block if here is not None else min(SHARED_PER_BLOCK.values())


def shown_targets() -> tuple[int, ...]:
    """Whose budgets a report shows: an A100, an H100, and the GPU that is here, else an RTX 4090."""
    here = present()
    third = here.target if here is not None else GPUS["RTX 4090"].target
    return tuple(sorted({GPUS["A100"].target, GPUS["H100"].target, third}))


@functools.cache
def capability() -> int | None:
    """The compute capability of the GPU that is here, 90 for 9.0; None without a CUDA GPU that answers."""
    if not is_installed("torch"):
        return None
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


def older_gpu_sentence() -> str:
    """What a learner is told of a GPU that is too old to be used; "" if there is none."""
    found = capability()
    if found is None or found >= MIN_TARGET:
        return ""
    return (
        f"The GPU here has compute capability {found // 10}.{found % 10}, and the course uses 8.0 and newer: "
        "kernels run observed, on the processor."
    )


GLUON_ONLY = (90,)
"""Compute capabilities that a Gluon kernel is compiled for: it names a Hopper GPU's own instructions."""

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
