"""What is timed: attention over [B, H, S, D] in bf16, its operations and its least bytes.

>>> problem = Problem(B=4, H=16, S=4096, D=128, causal=True)
>>> problem.operations("forward") / 1e12             # 4·B·H·S²·D, half of it where later keys are hidden
0.2748...
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

DIRECTIONS = ("forward", "backward", "both")
PRODUCTS = {"forward": 2, "backward": 5, "both": 7}
"""Matrix products of 2·S²·D that count: S and O forward, S, dP, dV, dQ and dK backward."""
TENSORS = {"forward": 4, "backward": 8, "both": 12}
"""Tensors of B·H·S·D that must move: Q, K, V, O forward; Q, K, V, O, dO, dQ, dK and dV backward."""
TOKENS = 16384
WIDTH = 2048
"""H·D."""


@dataclass(frozen=True)
class Problem:
    """One shape, in bf16; S_q = S_k."""

    B: int
    H: int
    S: int
    D: int
    causal: bool = False

    @property
    def name(self) -> str:
        """«D 128, S 4096, causal»."""
        return f"D {self.D}, S {self.S}, {'causal' if self.causal else 'full'}"

    def operations(self, direction: str) -> float:
        """Operations of the mathematics: what a kernel computes twice counts once."""
        whole = 2.0 * PRODUCTS[direction] * self.B * self.H * self.S**2 * self.D
        return whole / 2 if self.causal else whole

    def least_bytes(self, direction: str) -> float:
        """Inputs read once and outputs written once, without LSE and delta."""
        return 2.0 * TENSORS[direction] * self.B * self.H * self.S * self.D

    def draw(self, device: str = "cuda", seed: int = 0) -> Inputs:
        """Normally distributed inputs."""
        generator = torch.Generator(device).manual_seed(seed)
        shape = (self.B, self.H, self.S, self.D)
        q, k, v, do = (
            torch.randn(shape, generator=generator, device=device, dtype=torch.bfloat16) for _ in range(4)
        )
        return Inputs(q, k, v, do, self.causal, 1 / math.sqrt(self.D))


@dataclass(frozen=True)
class Inputs:
    """The inputs of one call: q, k, v and do [B, H, S, D], the mask, the factor before the softmax."""

    q: Tensor
    k: Tensor
    v: Tensor
    do: Tensor
    causal: bool
    alpha: float


def grid(lengths: tuple[int, ...] = (1024, 4096, 16384)) -> tuple[Problem, ...]:
    """The shapes of the table: 16384 tokens, D 64 and 128, without a mask and causal."""
    return tuple(
        Problem(TOKENS // S, WIDTH // D, S, D, causal)
        for D in (64, 128)
        for S in lengths
        for causal in (False, True)
    )


SMALL = tuple(Problem(1, 16, 512, D) for D in (64, 128))
"""So small that what Python does counts."""
CHECKED = tuple(
    Problem(B, H, S, D, causal)
    for B, H, S in ((1, 4, 512), (4, 16, 1024))  # short ones go another way than long ones
    for D in (64, 128)
    for causal in (False, True)
)
"""On which a contestant has to be right before it is timed."""
REMEMBERED = tuple(Problem(1, 16, S, 64) for S in (1024, 2048, 4096, 8192, 16384))
"""One sequence, longer and longer: what a call holds at its peak."""
