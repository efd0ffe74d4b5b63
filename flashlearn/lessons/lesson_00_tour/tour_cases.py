"""What the cases of lesson 00 share: data, and how their names say a number of elements."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case


def draw(case: Case, generator: torch.Generator, *shape: int) -> Tensor:
    """Normally distributed numbers of the case's magnitude, in its dtype."""
    return (torch.randn(*shape, generator=generator) * case.magnitude).to(case.dtype)


def elements(n: int) -> str:
    """ "1 element", "1000 elements", "40,500 elements"."""
    return "1 element" if n == 1 else f"{n:,} elements" if n > 9999 else f"{n} elements"
