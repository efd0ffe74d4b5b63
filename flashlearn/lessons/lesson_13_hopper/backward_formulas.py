"""The backward pass in torch: right, and with the faults of a kernel that keeps keys and adds dQ up."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas.backward_tile import TILED
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled
from flashlearn.lessons.shared.faulty_formulas.gradients import dkv_scan, dq_scan

CONSUMER = 64
"""Keys of one consumer; a program has two."""


@tiled(TILED)
def faulty_gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float,
    faults: Faults = NONE, tile: Tile = (32, 32),
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dQ, dK, dV). Faults: those of `dq_scan` and `dkv_scan`, and "dQ of the first consumer"."""
    dk, dv = dkv_scan(q, k, v, o, do, lse, alpha, causal, faults, tile)
    if "dQ of the first consumer" in faults:
        return _of_one_consumer(q, k, v, o, do, lse, causal, alpha), dk, dv
    return dq_scan(q, k, v, o, do, lse, alpha, causal, faults, tile), dk, dv


def _of_one_consumer(q, k, v, o, do, lse, causal, alpha) -> Tensor:
    """dQ from every second block of keys: without the shares of the second consumers."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    kept = torch.arange(k.shape[2], device=k.device) // CONSUMER % 2 == 0
    s = reference.attention_scores(q.to(wide), k.to(wide), alpha, causal)
    unseen = (lse == -torch.inf)[..., None]
    p = torch.where(unseen, 0.0, (s - torch.where(unseen, 0.0, lse.to(wide)[..., None])).exp())
    dp = do.to(wide) @ v.to(wide).mT
    delta = (o.to(wide) * do.to(wide)).sum(-1, keepdim=True)
    ds = (p * (dp - delta)).to(q.dtype).to(wide)
    return (alpha * (ds * kept) @ k.to(wide)).to(q.dtype)
