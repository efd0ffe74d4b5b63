"""What eight bits do to dQ, in torch: the operands of its three products are rounded, the rest is exact.

>>> q, k, v, do = inputs("normal")
>>> exact = dq(q, k, v, do)
>>> relative_error(dq(q, k, v, do, ds=E5M2), exact)      # dS alone in e5m2, with a scale per block
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.lessons.lesson_14_low_precision import study
from flashlearn.lessons.lesson_14_low_precision.eight_bits import E4M3, E5M2, Format
from flashlearn.lessons.lesson_14_low_precision.study import relative_error
from flashlearn.lessons.shared import reference

ROWS = 128
Kept = Format | torch.dtype | None
"""Eight bits with a scale per block, a plain cast, or as it is."""
WAYS: dict[str, dict[str, Kept]] = {
    "all in bf16": {"qkv": torch.bfloat16, "do": torch.bfloat16, "ds": torch.bfloat16},
    "Q, K, V in e4m3": {"qkv": E4M3},
    "dO in e4m3": {"do": E4M3},
    "dO in e5m2": {"do": E5M2},
    "dS in e4m3": {"ds": E4M3},
    "dS in e5m2": {"ds": E5M2},
    "all in e4m3": {"qkv": E4M3, "do": E4M3, "ds": E4M3},
}


def inputs(kind: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """q, k, v of the study and a normal dO, in fp64."""
    q, k, v = study.draw(kind)
    do = torch.randn(q.shape, generator=torch.Generator().manual_seed(5))
    return q.double(), k.double(), v.double(), do.double()


def rounded(x: Tensor, kept: Kept) -> Tensor:
    """x [B, H, S, N] in fp64, rounded; of eight bits every 128 rows have a scale."""
    if kept is None:
        return x
    if isinstance(kept, torch.dtype):
        return x.to(kept).to(x)
    top = torch.finfo(kept.dtype).max
    blocks = x.unflatten(2, (-1, ROWS))
    largest = blocks.abs().amax((3, 4), keepdim=True)
    scale = torch.where(largest == 0, 1.0, largest / top)
    return ((blocks / scale).clamp(-top, top).to(kept.dtype).to(x) * scale).flatten(2, 3)


def dq(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, qkv: Kept = None, do_kept: Kept = None, ds: Kept = None
) -> Tensor:  # fmt: skip
    """dQ of causal attention, its products' operands rounded as asked. S is a multiple of 128."""
    alpha = study.D**-0.5
    q, k, v = (rounded(x, qkv) for x in (q, k, v))
    do_in_product = rounded(do, do_kept)
    seen = reference.visible(q.shape[2], k.shape[2], True, q.device)
    p = (alpha * q @ k.mT).masked_fill(~seen, -math.inf).softmax(-1)
    delta = (do * (p @ v)).sum(-1, keepdim=True)
    d_scores = p * (do_in_product @ v.mT - delta)
    return alpha * rounded(d_scores, ds) @ k


def errors_of(kind: str, centred: bool = False) -> dict[str, float]:
    """Relative rms error of dQ by what is rounded; `centred`, the mean key is subtracted first."""
    q, k, v, do = inputs(kind)
    exact = dq(q, k, v, do)
    k = k - k.mean(2, keepdim=True) if centred else k
    return {
        name: relative_error(dq(q, k, v, do, way.get("qkv"), way.get("do"), way.get("ds")), exact)
        for name, way in WAYS.items()
    }
