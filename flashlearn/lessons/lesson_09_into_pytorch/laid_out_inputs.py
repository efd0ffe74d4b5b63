"""q, k and v with the strides that a case asks for."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case, Inputs


def lay_out(x: Tensor, layout: str) -> Tensor:
    """The same numbers [B, H, S, D], with other strides.

    "projection": [B, S, H, D] in memory. "columns": [B, H, D, S], so that S has stride 1. "every second":
    the last dimension has stride 2. "expanded": the first head's numbers for all heads, with stride 0.
    """
    if layout == "projection":
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if layout == "columns":
        return x.mT.contiguous().mT
    if layout == "every second":
        wide = torch.full((*x.shape[:-1], 2 * x.shape[-1]), 50.0, dtype=x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if layout == "expanded":
        return x[:, :1].contiguous().expand(x.shape)
    return x


def laid_out_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k and v in the layouts that the case's `layout` lists in this order; alpha from `data`, or None."""
    B, H, S_q, S_k, D = (case.sizes[name] for name in ("B", "H", "S_q", "S_k", "D"))
    drawn = [torch.randn(B, H, S, D, generator=generator).to(case.dtype) for S in (S_q, S_k, S_k)]
    if case.layout == "packed":  # one buffer [B, S, 3, H, D], as a single projection to q, k and v leaves it
        buffer = torch.stack([x.transpose(1, 2) for x in drawn], dim=2).contiguous()
        views = list(buffer.permute(2, 0, 3, 1, 4))
    else:
        layouts = case.layout.split(", ") if case.layout != "contiguous" else ["contiguous"] * 3
        views = [lay_out(x, layout) for x, layout in zip(drawn, layouts, strict=True)]
    return {**dict(zip("qkv", views, strict=True)), "alpha": case_alpha(case)}


def case_alpha(case: Case) -> float | None:
    """The alpha that the case's `data` gives, None where it gives none."""
    return next(
        (float(w.removeprefix("alpha ")) for w in case.data.split(", ") if w.startswith("alpha ")), None
    )
