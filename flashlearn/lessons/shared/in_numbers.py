"""A symbolic answer put to work on tensors.

>>> in_numbers(lambda p, do: p.T * do, torch.eye(2), torch.ones(2, 2))[0]
tensor([[1., 1.], [1., 1.]], dtype=torch.float64)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
import torch
from torch import Tensor


def in_numbers(function: Callable[..., Any], *given: Tensor | float) -> tuple[Tensor, ...]:
    """What `function`, which takes sympy objects, gives for tensors and numbers: tensors in fp64.

    A matrix [R, C] becomes a sympy matrix, one number a sympy number. What comes back may be one matrix or
    number, or several in a tuple, a list or a dictionary.
    """
    returned = function(*map(_symbolic, given))
    if isinstance(returned, dict):
        returned = tuple(returned.values())
    parts = returned if isinstance(returned, tuple | list) else (returned,)
    return tuple(torch.from_numpy(np.array(part, dtype=float)) for part in parts)


def _symbolic(value: Tensor | float) -> sp.Matrix | sp.Float:
    if isinstance(value, Tensor) and value.dim() > 0:
        return sp.Matrix(value.tolist())
    return sp.Float(float(value))
