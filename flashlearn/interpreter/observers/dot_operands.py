"""The operands of every `tl.dot`.

recorder = DotOperands()
with observing(observers=(recorder,)):
    launcher(*inputs)
left, right = recorder.observation()[0]
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flashlearn.interpreter.observer import Observer

MAX_ELEMENTS = 1 << 24
"""Elements that are kept at most; later products are left out."""

Product = tuple[np.ndarray, np.ndarray]
"""The operands of one matrix product in fp32, [M, K] and [K, N]."""


@dataclass
class DotOperands(Observer):
    """Keeps operands in `products`, one entry for each matrix of a batch."""

    products: list[Product] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._elements = 0

    def observation(self) -> tuple[Product, ...]:
        return tuple(self.products)

    def before_dot(self, left: np.ndarray, right: np.ndarray) -> None:
        if self._elements >= MAX_ELEMENTS:
            return
        left, right = (x.astype(np.float32) for x in (left, right))
        self._elements += left.size + right.size
        matrices = (x.reshape(-1, *x.shape[-2:]) for x in (left, right))
        self.products += zip(*matrices, strict=True)


RECORDS = (DotOperands,)
