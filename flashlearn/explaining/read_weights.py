"""Weights P as they were read out of one head of one case, beside the right ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

MIN_WEIGHT = 1e-4
"""Smaller weights prove nothing in half precision."""

USUAL_TILES = (16, 32, 64, 128)


@dataclass(frozen=True)
class Weights:
    """One head of one case: the learner's P, the right P and S, which pairs are visible, and the noise.

    `recomputed` where P comes from a given LSE, as in a backward kernel. `scans` is what a program scans,
    "keys" or "queries"; `blocks` are the sizes of the learner's tiles, as far as they are known. `bare` are
    the scores of hidden pairs as well; `unread` has for K and V, and for Q and dO, the rows that no program
    reads, as far as that is known.
    """

    got: Tensor
    right: Tensor
    scores: Tensor
    visible: Tensor
    noise: float
    recomputed: bool = False
    scans: str = "keys"
    blocks: tuple[int, ...] = ()
    bare: Tensor | None = None
    unread: tuple[Mapping[str, Tensor], Mapping[str, Tensor]] = ({}, {})

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes that tiles have, or may have where nothing is known."""
        return self.blocks or USUAL_TILES

    def tile_at(self, index: int) -> bool:
        """True if one of the learner's tiles may begin here."""
        return any(index % size == 0 for size in self.sizes)

    @property
    def telling(self) -> Tensor:
        """Visible pairs whose weight is large enough to be missed."""
        return self.visible & (self.right > 20 * self.noise + MIN_WEIGHT)

    @property
    def missing(self) -> Tensor:
        """Visible pairs that should have weight, and have none."""
        return self.telling & (self.got.abs() < self.noise)

    @property
    def silent(self) -> Tensor:
        """Pairs that have no weight that could be told from noise, whether they should have some or not."""
        return self.got.abs() <= 20 * self.noise + MIN_WEIGHT

    @property
    def leaking(self) -> Tensor:
        """Hidden pairs that have weight."""
        return ~self.visible & (self.got.abs() > 20 * self.noise + MIN_WEIGHT)
