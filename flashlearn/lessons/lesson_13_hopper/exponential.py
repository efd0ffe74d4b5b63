"""The power of two by multiply-adds: the exponent's bits by addition, the rest by a polynomial.

>>> exp2_by_fma(x, coefficients(3))          # x at most 0, in fp32, as a softmax has it

x = n + f with a whole number n and f from −1/2 to 1/2: 2ⁿ is an addition to the exponent's bits (Cody and
Waite, *Software Manual for the Elementary Functions*, 1980), 2ᶠ a polynomial by Horner's rule.
FlashAttention-4 (Zadouri et al., 2026) takes a share of its exponentials in this way. The coefficients here
are our own.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from torch import Tensor

from flashlearn.interpreter.gluon import timeline

LOWEST = -125.0
"""Further down fp32 has no normal numbers: the result would need more than an addition to the exponent."""
MAGIC = 1.5 * 2.0**23
"""x + MAGIC has no bits left for a fraction: it is rounded to a whole number, in the lowest bits."""
AROUND = 6
"""Instructions beside the multiply-adds: the lower bound, two to round, the rest, a shift, the exponent."""


@functools.cache
def coefficients(degree: int) -> tuple[float, ...]:
    """Of the polynomial whose largest relative error of 2ᶠ, |f| ≤ 1/2, is the smallest; highest first.

    Remez' exchange: on degree + 2 points the relative error has one size and alternating signs; each round
    moves the points to where the error is largest.
    """
    points = -0.5 * np.cos(np.pi * np.arange(degree + 2) / (degree + 1))
    grid = np.linspace(-0.5, 0.5, 20_001)
    found = np.zeros(degree + 1)
    for _ in range(20):
        rows = np.vander(points, degree + 1) / np.exp2(points)[:, None]
        signs = (-1.0) ** np.arange(degree + 2)
        *found, _ = np.linalg.solve(np.column_stack([rows, signs]), np.ones(degree + 2))
        error = np.polyval(found, grid) / np.exp2(grid) - 1
        edges = np.flatnonzero(np.diff(np.sign(error)) != 0) + 1
        parts = np.split(np.arange(len(grid)), edges)
        points = grid[[part[np.abs(error[part]).argmax()] for part in parts]]
    return tuple(float(c) for c in found)


def exp2_by_fma(x: Tensor, polynomial: tuple[float, ...]) -> Tensor:
    """2ˣ for x [any shape] in fp32, at most 0: `len(polynomial) - 1` multiply-adds and a few instructions."""
    x = x.clamp(min=LOWEST)
    rounded = x + MAGIC
    rest = x - (rounded - MAGIC)
    value = torch.full_like(rest, polynomial[0])
    for c in polynomial[1:]:
        # in fp64 and rounded once, as a multiply-add rounds
        value = (value.double() * rest.double() + float(np.float32(c))).float()
    return (value.view(torch.int32) + (rounded.view(torch.int32) << 23)).view(torch.float32)


def errors(x: Tensor, degree: int) -> tuple[float, float]:
    """The largest relative error in fp32, and the share of results that round to another number of bf16."""
    exact = torch.exp2(x.double())
    value = exp2_by_fma(x, coefficients(degree))
    relative = ((value.double() - exact) / exact).abs().max().item()
    return relative, (value.bfloat16() != exact.bfloat16()).double().mean().item()


def cycles(scores: int, share: float, degree: int, others: int) -> float:
    """Of an SM by the model: exponentials of `scores` scores of which a `share` is made of multiply-adds.

    `others` are a score's other instructions on the lanes; both units work at the same time.
    """
    lanes = scores * (others + share * (degree + AROUND)) / timeline.LANES
    return max(scores * (1 - share) / timeline.SPECIAL_LANES, lanes)
