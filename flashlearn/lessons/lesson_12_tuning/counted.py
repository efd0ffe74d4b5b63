"""What the compiler makes of a rung, counted: instructions by kind, registers, spills, shared memory.

    >>> made = compiled(upto("two loops"), D=64)
    >>> made["exponentials"], made["registers"]

Nothing is run on a GPU for it, and none need be here.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import torch

from flashlearn import compiler
from flashlearn.compiler.listing import listing
from flashlearn.interpreter.route import observing
from flashlearn.kernels.shapes import Shape
from flashlearn.lessons.lesson_12_tuning.rung_kernel import Variant, forward
from flashlearn.machine import device
from flashlearn.observation import Launch

H100 = device.GPUS["H100"]

KINDS = {
    "64-bit integers": r"\b(?:add|sub|mul|mad|shl)(?:\.\w+)*?\.[sub]64\b",
    "exponentials": r"\bex2\.approx",
    "multiplications": r"\bmul(?:\.\w+)*?\.f32\b",
    "fused multiply-adds": r"\bfma\.rn(?:\.\w+)*?\.f32\b",
    "additions": r"\b(?:add|sub)(?:\.\w+)*?\.f32\b",
    "selections": r"\bselp\.\w+",
    "stores to shared memory": r"\bst\.shared|\bstmatrix",
    "barriers": r"\bbar\.sync",
}
"""Instructions of PTX by what they are for."""


def kinds(launch: Launch, target: int = 90) -> dict[str, int]:
    """How often each kind of instruction is in what a launch compiles to."""
    ptx = str(listing(launch, target)["ptx"])
    return {name: len(re.findall(pattern, ptx)) for name, pattern in KINDS.items()}


def needs(launch: Launch, target: int = 90) -> dict[str, Any]:
    """Registers per thread, spilled bytes and shared bytes of a launch, and how full it keeps the GPU."""
    (made,) = compiler.compile_launch(launch, targets=(target,))
    if made.error:
        return {"error": made.error}
    return {
        "registers": made.registers,
        "spilled": made.spill_bytes,
        "shared": made.shared_bytes,
        "occupancy": made.occupancy,
    }


def launched(variant: Variant, D: int, causal: bool = False) -> Launch:
    """One observed launch of the variant's kernel in bf16, on a single head of one block."""
    cut = variant.shape
    q = torch.zeros(1, 1, max(cut.block_q, cut.block_k), D, dtype=torch.bfloat16)
    with observing() as (session, _):
        forward(variant)(q, q, q, causal, 0.125)
    return session.launches[-1]


def compiled(variant: Variant, D: int, causal: bool = False) -> dict[str, Any]:
    """Instructions and needs of a variant on an H100."""
    launch = launched(variant, D, causal)
    return kinds(launch) | needs(launch)


def programs(made: dict[str, Any], warps: int) -> int:
    """How many programs with these needs a multiprocessor of an H100 holds at a time."""
    return round(made["occupancy"] * H100.warps_per_sm / warps)


def shaped(variant: Variant, shape: Shape) -> Variant:
    """The variant with another block shape, number of warps and of stages."""
    return replace(variant, shape=shape)
