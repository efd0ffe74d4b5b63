"""The backward pass in torch: right, and with the faults of a kernel that keeps keys and adds dQ up."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.lessons.shared.faulty_formulas.backward_tile import TILED
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled
from flashlearn.lessons.shared.faulty_formulas.gradients import dkv_scan, dq_scan

CONSUMER = 64
"""Keys of one consumer; a program has two."""
QUERIES = 64
"""Queries of a block."""
OWN = frozenset({"dQ of the first consumer", "no mask in the loop", "top-left mask in the loop"})


@tiled(TILED)
def faulty_gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float,
    faults: Faults = NONE, tile: Tile = (32, 32),
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dQ, dK, dV). Faults: those of `dq_scan` and `dkv_scan`, and OWN.

    "dQ of the first consumer" leaves out every second block of keys; "no mask in the loop" and "top-left mask
    in the loop" are slips of the causal mask in a loop that starts correctly; "one sum for all heads" adds
    all heads' dQ in the place of the first one.
    """
    own = faults & OWN
    if own:
        dq, dk, dv = _plain(q, k, v, o, do, lse, causal, alpha, own)
    else:
        dk, dv = dkv_scan(q, k, v, o, do, lse, alpha, causal, faults, tile)
        dq = dq_scan(q, k, v, o, do, lse, alpha, causal, faults, tile)
    if "one sum for all heads" in faults:
        total = dq.to(torch.float32 if dq.dtype.itemsize == 2 else dq.dtype).sum((0, 1))
        dq = torch.zeros_like(dq)
        dq[0, 0] = total
    return dq, dk, dv


def _plain(q, k, v, o, do, lse, causal, alpha, faults) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients with all pairs at once, from P of what the faults let be seen."""
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    wide_q, wide_k, wide_v, wide_o, wide_do = (t.to(wide) for t in (q, k, v, o, do))
    kept = torch.arange(k.shape[2], device=k.device) // CONSUMER % 2 == 0
    share = kept if "dQ of the first consumer" in faults else torch.ones_like(kept)
    s = alpha * wide_q @ wide_k.mT
    rest = torch.where(lse == -torch.inf, torch.inf, lse.to(wide))[..., None]
    p = torch.where(_seen(q, k, causal, faults), (s - rest).exp(), 0.0)
    delta = (wide_o * wide_do).sum(-1, keepdim=True)
    ds = (p * (wide_do @ wide_v.mT - delta)).to(q.dtype).to(wide)
    dv = p.to(q.dtype).to(wide).mT @ wide_do
    dq, dk = alpha * (ds * share) @ wide_k, alpha * ds.mT @ wide_q
    return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def _seen(q: Tensor, k: Tensor, causal: bool, faults: Faults) -> Tensor:
    rows = torch.arange(q.shape[2], device=q.device)[:, None]
    keys = torch.arange(k.shape[2], device=q.device)
    shift = len(keys) - len(rows)
    if not causal:
        return torch.ones_like(rows * keys, dtype=torch.bool)
    begin = (keys // (2 * CONSUMER) * 2 * CONSUMER - shift).clamp_min(0) // QUERIES * QUERIES
    if "no mask in the loop" in faults:
        return rows >= begin
    if "top-left mask in the loop" in faults:
        return (rows >= begin) & (keys <= rows)
    return keys <= rows + shift
