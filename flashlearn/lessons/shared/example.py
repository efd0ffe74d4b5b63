"""The small example that runs through the whole course: four queries, three keys, two numbers each.

    >>> from flashlearn.lessons.shared.example import ALPHA, K, Q
    >>> ALPHA * Q @ K.T * 2**0.5                # row 0 of S = alpha Q Kᵀ is (1, 2, 3)/√2
    tensor([[ 1.,  2.,  3.], …

Lesson 01 introduces it; it comes back by hand, in sympy, in torch, in tiles and in the backward pass.
S_q = 4 and S_k = 3 differ, as do both from D = 2, so that a transposed or swapped operand does not fit.
Row 0 of dP = dO Vᵀ is (1, −2, 0). The tensors are fp64; `symbolic()` has the same numbers exactly.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from flashlearn.later import torch

if TYPE_CHECKING:
    import sympy as sp
    from torch import Tensor

    Q: Tensor
    K: Tensor
    V: Tensor
    dO: Tensor

__all__ = ["ALPHA", "K", "Q", "Symbolic", "V", "dO", "symbolic", "tensors"]

_ROWS = {
    "Q": [[1, 2], [2, 0], [0, -1], [1, 1]],  # (S_q, D) = (4, 2)
    "K": [[1, 0], [0, 1], [1, 1]],  # (S_k, D) = (3, 2)
    "V": [[1, 0], [0, 2], [1, 1]],  # (S_k, D) = (3, 2)
    "dO": [[1, -1], [0, 1], [2, 0], [1, 1]],  # (S_q, D) = (4, 2)
}
ALPHA = 1 / math.sqrt(2)  # 1/√D


def __getattr__(name: str) -> Tensor:
    """The tensors are made when they are asked for: formulas are checked without torch."""
    if name not in _ROWS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = tensor = torch.tensor(_ROWS[name], dtype=torch.float64)
    return tensor


class Symbolic(NamedTuple):
    """The example in sympy: exact integers, and alpha = √2/2."""

    Q: sp.Matrix
    K: sp.Matrix
    V: sp.Matrix
    dO: sp.Matrix
    alpha: sp.Expr


def symbolic() -> Symbolic:
    """`Q, K, V, dO, alpha` as sympy matrices and an exact number, made afresh by each call."""
    import sympy as sp

    matrices = (sp.Matrix(rows) for rows in _ROWS.values())
    return Symbolic(*matrices, alpha=1 / sp.sqrt(2))


def tensors(
    device: torch.device | str = "cpu", dtype: torch.dtype | None = None
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Fresh copies of `Q, K, V, dO` for a kernel: on `device`, in `dtype` (default fp32), of shape [S, D]."""
    return tuple(torch.tensor(rows, dtype=dtype or torch.float32, device=device) for rows in _ROWS.values())
