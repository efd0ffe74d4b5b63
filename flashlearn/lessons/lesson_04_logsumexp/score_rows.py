"""Rows of scores that are longer than a block: cases and data of the two kernels."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from flashlearn.exercise import Case
from flashlearn.lessons.shared import row_cases

LARGE = (*row_cases.SHIFTS, "rising", "falling")
"""Data that exp overflows or vanishes on."""


def rows(M: int, N: int, dtype: torch.dtype = torch.float32, note: str = "", **more: Any) -> Case:
    """M rows of N scores, ragged where blocks of 32 do not divide N."""
    data = more.get("data", "normal")
    tags = {
        "ragged": N % 32 != 0,
        "strided": "layout" in more or data == "lse is a column",
        "large": more.get("magnitude", 1.0) > 10 or data in LARGE,
        "−inf": "−inf" in data or data == "empty rows",
    }
    return row_cases.rows(M, N, dtype, note, tags=tags, **more)


def scores(case: Case, generator: torch.Generator) -> Tensor:
    """Scores [M, N] as in lesson 02, and rows that rise, fall, or hold −inf for whole blocks."""
    N = case.sizes["N"]
    s = row_cases.scores(case, generator)
    slope = {"rising": 1.0, "falling": -1.0}.get(case.data, 0.0)
    s = s + slope * torch.linspace(-120, 120, N)
    if case.data == "first blocks −inf":
        s -= 150.0  # lost by a maximum that starts above −∞
        s[:, : min(64, N - 1)] = -math.inf
    if case.data == "last blocks −inf":
        s[:, max(1, N - 64) :] = -math.inf
    if case.data == "empty rows":
        s[:, ::3] = -math.inf
        s[::2] = -math.inf  # the first row, and every second one after it: nothing at all
    return s
