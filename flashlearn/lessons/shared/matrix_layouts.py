"""One matrix in several layouts: a kernel that takes no strides reads the 50s between its numbers."""

from __future__ import annotations

import torch
from torch import Tensor


def lay_out(x: Tensor, layout: str) -> Tensor:
    """The same numbers as a slice of a wider buffer full of 50s, transposed, or as every 2nd column."""
    if layout == "strided":
        buffer = torch.full((x.shape[0], x.shape[1] + 7), 50.0, dtype=x.dtype)
        buffer[:, 3:-4] = x
        return buffer[:, 3:-4]
    if layout == "every 2nd column":
        buffer = torch.full((x.shape[0], 2 * x.shape[1]), 50.0, dtype=x.dtype)
        buffer[:, ::2] = x
        return buffer[:, ::2]
    return x.t().contiguous().t() if layout == "transposed" else x
