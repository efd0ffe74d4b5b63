"""Philox in torch: the random numbers that `tl.rand` makes, as one formula of a seed and a position.

    >>> uniform(7, torch.arange(3))            # what a program that asks for positions 0, 1, 2 gets
    >>> kept(case_sizes, p=0.2, seed=7)        # [B, H, S_q, S_k], True where a weight stays

Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC11): the position is the counter, the seed the key, and nothing is remembered from one number to the next.
So a backward pass makes the forward pass's numbers again by asking for the same positions.
"""

from __future__ import annotations

import torch
from torch import Tensor

ROUND = (0xD2511F53, 0xCD9E8D57)
KEY = (0x9E3779B9, 0xBB67AE85)
WORD = 0xFFFFFFFF
ROUNDS = 10
TO_UNIT = 4.6566127342e-10
"""Just below 2⁻³¹: what `tl.rand` multiplies an integer below 2³¹ by, so that the result stays below 1."""


def words(seed: int, position: Tensor) -> tuple[Tensor, ...]:
    """The four words of 32 bits at each position, as int64 between 0 and 2³² − 1."""
    position = position.to(torch.int64)
    c0, c1 = position & WORD, (position >> 32) & WORD
    c2, c3 = torch.zeros_like(c0), torch.zeros_like(c0)
    k0, k1 = seed & WORD, (seed >> 32) & WORD
    for _ in range(ROUNDS):
        # products of two words have 64 bits: int64 wraps, and keeps every one of them
        low, high = ROUND[0] * c0, ROUND[1] * c2
        c0, c2 = ((high >> 32) & WORD) ^ c1 ^ k0, ((low >> 32) & WORD) ^ c3 ^ k1
        c1, c3 = high & WORD, low & WORD
        k0, k1 = (k0 + KEY[0]) & WORD, (k1 + KEY[1]) & WORD
    return c0, c1, c2, c3


def uniform(seed: int, position: Tensor) -> Tensor:
    """The fp32 numbers of `tl.rand(seed, position)`, each 0 or more and below 1."""
    word = words(seed, position)[0]
    signed = torch.where(word >= 1 << 31, word - (1 << 32), word)
    return torch.where(signed < 0, -signed - 1, signed).float() * TO_UNIT


def positions(B: int, H: int, S_q: int, S_k: int, device: torch.device | str = "cpu") -> Tensor:
    """((b · H + h) · S_q + i) · S_k + j: each weight's own number, [B, H, S_q, S_k]."""
    return torch.arange(B * H * S_q * S_k, device=device).view(B, H, S_q, S_k)
