"""FlashAttention-3's forward pass in torch with the faults of its powers of two; else as lesson 12 has it."""

from __future__ import annotations

import math

from torch import Tensor

from flashlearn.lessons.shared import grouped
from flashlearn.lessons.shared.faulty_formulas import forward
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled

TWICE = "log2 e twice"


@tiled(forward.TILED)
def faulty_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float, faults: Faults = NONE,
    tile: Tile = (32, 32),
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`grouped.faulty_forward`; with TWICE the scores are alpha (log2 e) q · k, in powers of e."""
    if TWICE in faults:
        alpha = alpha * math.log2(math.e)
    return grouped.faulty_forward(q, k, v, causal, alpha, faults - {TWICE}, tile)
