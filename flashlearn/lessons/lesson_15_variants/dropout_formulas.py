"""Dropout on attention's weights in torch, both passes: right, at the learner's precision, and with faults.

    >>> o, lse, dq, dk, dv = dropout_attention(q, k, v, do, p, seed, alpha)

A weight P_ij is kept where Philox's number at its position is p or more, and then divided by 1 − p. LSE is
that of all scores: dropout comes after the softmax (FlashAttention, arXiv 2205.14135, appendix B.3 and B.4).
"""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.lessons.lesson_15_variants import philox
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled
from flashlearn.lessons.shared.tiled_twins import in_order

Passes = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]

PLAIN, IN_ORDER, SCALED_FIRST = "plain", "in order", "scaled first"
"""How scores are computed: one product, summed over D column by column, or with alpha multiplied into Q."""
TILE_OFFSETS = "offsets of the tile"
"""The same block of random numbers in every tile of a head."""


def wide(x: Tensor) -> Tensor:
    """x in the precision that sums are carried in: fp64 stays fp64, all else becomes fp32."""
    return x if x.dtype == torch.float64 else x.float()


def scores(q: Tensor, k: Tensor, alpha: float, order: str) -> Tensor:
    """alpha Q Kᵀ."""
    if order == SCALED_FIRST:
        return (alpha * q) @ k.mT
    return alpha * (in_order(q, k) if order == IN_ORDER else q @ k.mT)


@tiled({TILE_OFFSETS})
def dropout_attention(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, p: float, seed: int, alpha: float,
    faults: Faults = NONE, tile: Tile = (32, 32), rounded: bool = False, order: str = PLAIN,
) -> Passes:  # fmt: skip
    """O, LSE, dQ, dK, dV of tensors [B, H, S, D]; `rounded` narrows P and dS before their products."""

    def narrow(x: Tensor) -> Tensor:
        return wide(x.to(q.dtype)) if rounded else x

    Q, K, V, dO = (wide(x) for x in (q, k, v, do))
    s = scores(Q, K, alpha, order)
    keep = _kept(s, p, seed, faults, tile)
    again = _kept(s, p, seed + ("another seed" in faults), faults | _turned(faults), tile)
    scale, of_scores = _scale(p, faults), 1.0
    if "scores dropped" in faults:
        of_scores = keep * scale
        s, keep, again, scale = s * of_scores, torch.ones_like(s), torch.ones_like(s), 1.0
    m = s.amax(-1, keepdim=True)
    e = (s - m).exp()
    total = (e * keep if "l of what is kept" in faults else e).sum(-1, keepdim=True)
    forward_scale = 1.0 if faults & {"O not scaled", "nothing scaled"} else scale
    o = forward_scale * (narrow(e * keep) @ V) / torch.where(total == 0, 1.0, total)
    o = o.to(q.dtype)
    lse = m + total.log()

    weights = torch.where(total == 0, 0.0, (s - torch.where(total == 0, 0.0, lse)).exp())
    delta = (wide(o) * dO).sum(-1, keepdim=True)
    dv_scale = 1.0 if faults & {"dV not scaled", "nothing scaled"} else scale
    dv = dv_scale * narrow(weights if "dV not masked" in faults else weights * again).mT @ dO
    dp = dO @ V.mT
    dp = dp if "dP not masked" in faults else dp * again
    dp = dp if faults & {"dP not scaled", "nothing scaled"} else dp * scale
    ds = weights * (dp - delta)
    if "delta masked" in faults:
        ds = ds * again
    if "delta scaled" in faults:
        ds = weights * (dp - scale * delta)
    ds = narrow(ds * of_scores if "and their gradient" in faults else ds)
    return o, lse.squeeze(-1), (alpha * ds @ K).to(q.dtype), (alpha * ds.mT @ Q).to(k.dtype), dv.to(v.dtype)


def rounded_passes(q: Tensor, k: Tensor, v: Tensor, do: Tensor, p: float, seed: int, alpha: float) -> Passes:
    """A twin that narrows P and dS to the inputs' dtype, as kernels do."""
    return dropout_attention(q, k, v, do, p, seed, alpha, rounded=True)


def in_another_order(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, p: float, seed: int, alpha: float
) -> Passes:
    """A twin whose scores are summed over D one column after the other."""
    return dropout_attention(q, k, v, do, p, seed, alpha, rounded=True, order=IN_ORDER)


def scaled_first(q: Tensor, k: Tensor, v: Tensor, do: Tensor, p: float, seed: int, alpha: float) -> Passes:
    """A twin that multiplies Q by alpha before the product."""
    return dropout_attention(q, k, v, do, p, seed, alpha, order=SCALED_FIRST)


def _turned(faults: Faults) -> Faults:
    return frozenset({"positions turned"} if "backward positions turned" in faults else ())


def _scale(p: float, faults: Faults) -> float:
    if "multiplied by 1 - p" in faults:
        return 1 - p
    return 1 / p if "divided by p" in faults and p else 1 / (1 - p)


def _kept(s: Tensor, p: float, seed: int, faults: Faults, tile: Tile) -> Tensor:
    """1 where a weight stays and 0 where it is dropped, [B, H, S_q, S_k]."""
    B, H, S_q, S_k = s.shape
    at = philox.positions(B, H, S_q, S_k, s.device)
    i = torch.arange(S_q, device=s.device)[:, None]
    j = torch.arange(S_k, device=s.device)[None, :]
    head = torch.arange(B * H, device=s.device).view(B, H, 1, 1) * S_q * S_k
    if TILE_OFFSETS in faults:
        inside = (i % tile[0]) * tile[1] + j % tile[1]
        area = tile[0] * tile[1] if "heads a tile apart" in faults else S_q * S_k
        at = inside + (0 if "heads alike" in faults else head // (S_q * S_k) * area)
        at = at.expand(B, H, S_q, S_k)
    elif "heads alike" in faults:
        at = (i * S_k + j).expand(B, H, S_q, S_k)
    elif "batches alike" in faults:
        at = (head[:1] + i * S_k + j).expand(B, H, S_q, S_k)
    elif "rows S_q apart" in faults:
        at = (head // S_k * S_q if "heads too" in faults else head) + i * S_q + j
    elif "positions turned" in faults:
        at = head + j * S_q + i
    u = philox.uniform(seed, at)
    if "dropped and kept exchanged" in faults:
        return (u < p).to(s.dtype)
    if "the other end" in faults:
        return (u < 1 - p).to(s.dtype)
    return (u >= p).to(s.dtype)
