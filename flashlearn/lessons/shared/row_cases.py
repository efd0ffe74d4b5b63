"""Rows of scores as the cases of a softmax or a log-sum-exp name them."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case
from flashlearn.lessons.shared.cases import build_case

SHIFTS = {"far below zero": -200.0, "far above zero": 100.0, "at the far end": -20000.0, "beyond −10⁶": -3e6}
"""What the case's `data` adds to every score."""


def rows(M: int, N: int, dtype: torch.dtype = torch.float32, note: str = "", **more: Any) -> Case:
    """A case of M rows of N columns; "large" is what exp overflows or vanishes on."""
    large = more.get("magnitude", 1.0) > 10 or more.get("data") in SHIFTS
    tags = {"large": large, **more.pop("tags", {})}
    return build_case(f"{M}×{N}", {"M": M, "N": N}, dtype, note, tags=tags, **more)


def scores(case: Case, generator: torch.Generator) -> Tensor:
    """Rows of scores [M, N] in fp32 as the case's `data` says: equal, far from zero, far apart, some −inf."""
    M, N = case.sizes["M"], case.sizes["N"]
    s = torch.randn(M, N, generator=generator) * case.magnitude
    if case.data == "equal":
        s = s[:, :1].expand(M, N).clone()
    s = s + SHIFTS.get(case.data, 0.0)
    if case.data == "rows far apart":
        s[1::2] -= 400.0  # a maximum that rows share leaves nothing of every second one
    if case.data == "some −inf":
        hidden = torch.rand(M, N, generator=generator) < 0.4
        hidden[:, 0] = True  # a running maximum would start at −inf
        hidden[torch.arange(M), 1 + torch.arange(M) % (N - 1)] = False  # something is left to attend to
        s = s.masked_fill(hidden, -math.inf)
    return s
