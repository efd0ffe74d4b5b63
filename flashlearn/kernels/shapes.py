"""Launch shapes of the tuned kernels: blocks, warps, stages, registers; from a table, or tuned on this GPU.

    >>> forward_shape(torch.empty(1, 8, 512, 64, dtype=torch.bfloat16), causal=False)
    Shape(block_q=64, block_k=128, warps=4, stages=2, registers=None)

The table holds what was fastest on an H200 for fp16 and bf16 with D of 64, 128 and 256. For fp32 nothing was
tried out: its products run on no tensor core, and these small blocks still spill registers. They are smaller
still where a block of the GPU at hand can have too little shared memory for them. `flashlearn bench
--tune` tries candidates on the GPU at hand and saves the best of them to a file, which is read once: no
launch ever searches.
"""

from __future__ import annotations

import functools
import json
from dataclasses import astuple, dataclass
from pathlib import Path

import torch
import triton
from torch import Tensor

from flashlearn.machine import device
from flashlearn.machine.ceilings import cache_folder, environment_id

__all__ = ["Shape", "backward_shapes", "forward_shape", "key", "remember"]

FILE = "shapes.json"
WIDE_FP32 = 132 * device.KIB
"""Shared memory that a block of 32 × 32 needs in the backward pass at most, in fp32 with D of 256."""


@dataclass(frozen=True)
class Shape:
    """Queries and keys of a tile, warps of a program, stages of its loop.

    `registers` is what a thread may have at most; None leaves it to the compiler.
    """

    block_q: int
    block_k: int
    warps: int
    stages: int
    registers: int | None = None

    @property
    def options(self) -> dict[str, int]:
        """The keyword options of a launch."""
        at_most = {"maxnreg": self.registers} if self.registers else {}
        return {"num_warps": self.warps, "num_stages": self.stages, **at_most}


def forward_shape(q: Tensor, causal: bool = False) -> Shape:
    """The shape for the forward pass over queries like q [B, H, S, D]."""
    if found := _remembered().get(key("forward", q, causal)):
        return found
    D = _padded(q)
    if q.element_size() == 4:  # products of fp32 run on no tensor core: small blocks
        return Shape(32, 32, 4, 1)
    if D <= 64:
        return Shape(64, 128, 4, 2)
    if D == 128:  # one stage takes 50 KB: three programs share a multiprocessor if 160 registers are enough
        return Shape(64, 128, 4, 1, registers=160)
    return Shape(64, 64, 4, 1)


def backward_shapes(q: Tensor, causal: bool = False) -> tuple[Shape, Shape]:
    """The shapes of the kernel for dK and dV, and of the one for dQ."""
    known = _remembered()
    dkv, dq = _backward_table(q)
    return known.get(key("dkv", q, causal), dkv), known.get(key("dq", q, causal), dq)


def key(kernel: str, q: Tensor, causal: bool) -> str:
    """For which launches a remembered shape is meant: kernel ("forward", "dkv", "dq"), dtype, D, mask."""
    return f"{kernel}, {q.dtype}, D {_padded(q)}, {'causal' if causal else 'full'}"


def remember(found: dict[str, Shape]) -> Path:
    """Keep shapes by their key for this GPU, driver and torch; returns the file."""
    file = cache_folder() / FILE
    everything = _read(file)
    own = everything.get(environment_id(), {})
    everything[environment_id()] = own | {name: astuple(shape) for name, shape in found.items()}
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.write_text(json.dumps(everything, indent=1), encoding="utf-8")
    fresh.replace(file)
    _remembered.cache_clear()
    return file


@functools.cache
def _remembered() -> dict[str, Shape]:
    if not torch.cuda.is_available():  # nothing is tuned for an interpreter
        return {}
    try:
        return {
            name: Shape(*given)
            for name, given in _read(cache_folder() / FILE).get(environment_id(), {}).items()
        }
    except (TypeError, AttributeError):  # not what `remember` wrote
        return {}


def _read(file: Path) -> dict:
    try:
        known = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _padded(q: Tensor) -> int:
    return max(16, triton.next_power_of_2(q.shape[3]))


def _backward_table(q: Tensor) -> tuple[Shape, Shape]:
    D = _padded(q)
    if q.element_size() == 4:
        fits = D <= 128 or device.shared_per_block() >= WIDE_FP32
        return (
            (Shape(32, 32, 4, 1), Shape(32, 32, 4, 1)) if fits else (Shape(16, 16, 4, 1), Shape(16, 16, 4, 1))
        )
    if D <= 64:
        return Shape(128, 64, 4, 2), Shape(64, 64, 4, 3)
    if D == 128:
        return Shape(64, 64, 4, 2), Shape(64, 64, 4, 2)
    return Shape(64, 64, 8, 2), Shape(64, 64, 4, 1)
