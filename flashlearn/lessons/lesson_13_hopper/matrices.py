"""Matrices for the exercises on copies, rings and products, and the compute capability they need."""

from __future__ import annotations

from typing import Any

import torch

from flashlearn.exercise import Case, Inputs
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.matrix_layouts import lay_out

HOPPER = 90
"""The compute capability that has TMA, mbarriers and WGMMA as these kernels use them."""


def matrix_case(M: int, N: int, dtype: torch.dtype = torch.float32, **more: Any) -> Case:
    """An [M, N] matrix."""
    return _case(f"{M} × {N}", {"M": M, "N": N}, dtype, **more)


def product_case(M: int, N: int, K: int, dtype: torch.dtype = torch.float16, **more: Any) -> Case:
    """a [M, K] and b [K, N]."""
    return _case(f"{M} × {N}, inner {K}", {"M": M, "N": N, "K": K}, dtype, **more)


def _case(label: str, sizes: dict[str, int], dtype: torch.dtype, **more: Any) -> Case:
    tags = {"ragged": any(size % 64 for size in sizes.values())}
    note = ", ".join(more[name] for name in ("layout", "data") if name in more)
    return build_case(label, sizes, dtype, note, tags=tags, **more)


def matrix(case: Case, generator: torch.Generator) -> Inputs:
    """x [M, N], normally distributed, or positive, so that sums do not cancel."""
    x = torch.randn(case.sizes["M"], case.sizes["N"], generator=generator)
    x = x.abs() + 0.5 if case.data == "positive" else x
    return {"x": lay_out(x.to(case.dtype), case.layout)}


def matrices(case: Case, generator: torch.Generator) -> Inputs:
    """a [M, K] and b [K, N], both in the case's layout; all positive where its data is "positive"."""
    M, N, K = (case.sizes[name] for name in "MNK")
    a, b = (torch.randn(shape, generator=generator) for shape in ((M, K), (K, N)))
    if case.data == "positive":
        a, b = a.abs() + 0.5, b.abs() + 0.5
    return {"a": lay_out(a.to(case.dtype), case.layout), "b": lay_out(b.to(case.dtype), case.layout)}
