"""What a kernel multiplies: an observer that keeps the operands of every `tl.dot`.

with observing() as (session, watch):
    session.builder = ProductBuilder
    launcher(*inputs)
left, right = session.memory.products[0]
"""

from __future__ import annotations

import numpy as np

from flashlearn.interpreter.builder import ObservedBuilder

MOST = 1 << 24
"""Elements that are kept at most; products that come later are left out."""

Product = tuple[np.ndarray, np.ndarray]
"""The operands of one matrix product in fp32, [M, K] and [K, N]."""


class ProductBuilder(ObservedBuilder):
    """Keeps operands in `memory.products`, one entry for each matrix of a batch."""

    def __init__(self, memory):
        super().__init__(memory)
        self.kept = 0
        if not hasattr(memory, "products"):
            memory.products = []

    def create_dot(self, a, b, d, input_precision, max_num_imprecise_acc):
        if self.kept < MOST:
            left, right = (x.data.astype(np.float32) for x in (a, b))
            self.kept += left.size + right.size
            matrices = (x.reshape(-1, *x.shape[-2:]) for x in (left, right))
            self.memory.products += zip(*matrices, strict=True)
        return super().create_dot(a, b, d, input_precision, max_num_imprecise_acc)
