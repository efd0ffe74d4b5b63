"""Where sums and products of 32-bit integers wrap around."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton.language as tl

from flashlearn.interpreter.observer import Observer
from flashlearn.observation import Place

WRAPPING = (np.add, np.subtract, np.multiply)


@dataclass
class Int32Overflows(Observer):
    """The exact values that did not fit, each with its line."""

    found: list[tuple[int, Place | None]] = field(default_factory=list, init=False)

    def observation(self) -> tuple[tuple[int, Place | None], ...]:
        return tuple(self.found)

    def on_result(self, kind: str, operation: Any, operands: tuple, result: Any) -> None:
        if kind != "binary" or operation not in WRAPPING:
            return
        left, right = operands
        if left.dtype.scalar != tl.int32 or result.data.dtype != np.int32:
            return
        exact = operation(left.data.astype(np.int64), right.data.astype(np.int64))
        wrapped = exact != result.data
        if wrapped.any():
            self.found.append((int(exact[wrapped].flat[-1]), self.space.place()))


RECORDS = (Int32Overflows,)
