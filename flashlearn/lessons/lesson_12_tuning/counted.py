"""What the compiler makes of a rung, counted: instructions by kind, registers, spills, shared memory.

>>> made = compiled(RUNGS[0], D=64)
>>> made["exponentials"], made["registers"]
"""

from __future__ import annotations

import re
from dataclasses import replace

import torch

from flashlearn import compiler
from flashlearn.compiler.listing import listing
from flashlearn.interpreter.observation import Launch
from flashlearn.interpreter.route import observing
from flashlearn.lessons.lesson_12_tuning.ladder import Rung, forward

KINDS = {
    "64-bit sums and products": r"\b(?:add|sub|mul|mad|shl)(?:\.\w+)*?\.[sub]64\b",
    "exponentials": r"\bex2\.approx",
    "products of their own": r"\bmul(?:\.\w+)*?\.f32\b",
    "fused multiply-adds": r"\bfma\.rn(?:\.\w+)*?\.f32\b",
    "sums and differences": r"\b(?:add|sub)(?:\.\w+)*?\.f32\b",
    "selections": r"\bselp\.\w+",
    "stores to shared memory": r"\bst\.shared|\bstmatrix",
    "products of tiles": r"\bwgmma\.mma_async",
}
"""Instructions of PTX by what they are for."""


def kinds(ptx: str) -> dict[str, int]:
    """How often each kind of instruction stands in the PTX."""
    return {name: len(re.findall(pattern, ptx)) for name, pattern in KINDS.items()}


def launched(rung: Rung, D: int, causal: bool = False, blocks: int = 2) -> Launch:
    """One observed launch of the rung's kernel, on a head of so many blocks, in bf16."""
    S = blocks * max(rung.block_q, rung.block_k)
    q = torch.zeros(1, 1, S, D, dtype=torch.bfloat16)
    with observing() as (session, _):
        forward(rung)(q, q, q, causal, 0.125)
    return session.launches[-1]


def compiled(rung: Rung, D: int, causal: bool = False, target: int = 90) -> dict[str, int | str]:
    """Instructions, registers, spilled bytes, shared bytes of a rung on an H100 (or another target)."""
    launch = launched(rung, D, causal, blocks=1)
    (made,) = compiler.compile_launch(launch, targets=(target,))
    if made.error:
        return {"error": made.error}
    shown = {
        "registers": made.registers or 0,
        "spilled": made.spill_bytes or 0,
        "shared": made.shared_bytes or 0,
    }
    return kinds(str(listing(launch, target)["ptx"])) | shown


def shaped(rung: Rung, block_q: int, block_k: int, stages: int, warps: int) -> Rung:
    """The rung with another configuration."""
    name = f"{block_q} × {block_k}, {stages} stages, {warps} warps"
    return replace(rung, name=name, block_q=block_q, block_k=block_k, stages=stages, warps=warps)
