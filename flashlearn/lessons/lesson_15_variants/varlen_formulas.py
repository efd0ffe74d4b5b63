"""A ragged batch in torch, both passes: right, at the learner's precision, and with faults by name.

    >>> o, lse, dq, dk, dv = varlen_attention(q, k, v, do, cu_seqlens_q, cu_seqlens_k, causal, alpha)

Sequences lie one after another in a single batch: q and do are [1, H, T_q, D], k and v [1, H, T_k, D], lse
[1, H, T_q]. The queries cu_seqlens_q[n] … cu_seqlens_q[n + 1] − 1 are those of sequence n and see its keys
alone. Here everything is one matrix of T_q · T_k scores under a mask.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from flashlearn.lessons.lesson_15_variants.dropout_formulas import IN_ORDER, PLAIN, SCALED_FIRST, scores, wide
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled

Passes = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]

KEYS_LEAK, QUERIES_LEAK, STRADDLE = "keys leak", "queries leak", "blocks straddle"


@dataclass(frozen=True)
class Rows:
    """For each packed row: its sequence, and its place there; `begin` and `length` of that sequence."""

    sequence: Tensor
    place: Tensor
    begin: Tensor
    length: Tensor


def rows_of(cu_seqlens: Tensor, total: int, block: int = 1) -> Rows:
    """Rows 0 … total − 1; with a `block` each has the sequence of its block's first row."""
    row = torch.arange(total, device=cu_seqlens.device)
    sequence = torch.searchsorted(cu_seqlens.long(), row // block * block, right=True) - 1
    begin, end = cu_seqlens.long()[sequence], cu_seqlens.long()[sequence + 1]
    return Rows(sequence, row - begin, begin, end - begin)


def visible(q_rows: Rows, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, T_k: int, causal: bool) -> Tensor:
    """Which key each query sees, [T_q, T_k]."""
    return _visible(q_rows, cu_seqlens_q.long(), cu_seqlens_k.long(), T_k, causal, NONE, 1)


def _visible(
    x: Rows, cu_q: Tensor, cu_k: Tensor, T_k: int, causal: bool, faults: Faults, block: int
) -> Tensor:
    """The keys that forward pass and dQ use: a sequence's, counted from its first one."""
    if "borders of the queries" in faults:
        cu_k = cu_q
    first, end = cu_k[x.sequence], cu_k[x.sequence + 1]
    lengths = cu_q[x.sequence + 1] - cu_q[x.sequence]
    if "lengths of the queries" in faults:
        end = first + lengths
    offset = end - first - lengths
    if "top-left" in faults:
        offset = torch.zeros_like(offset)
    if KEYS_LEAK in faults:
        end = first + -(-(end - first) // block) * block
    j = torch.arange(T_k, device=cu_k.device)
    place = j[None, :] - first[:, None]
    seen = (place >= 0) & (j[None, :] < end[:, None])
    if "no borders" in faults:
        seen = torch.ones_like(seen)
    if causal and faults & {"packed diagonal", "no borders"}:
        i = torch.arange(len(x.place), device=cu_k.device)
        return seen & (j[None, :] <= i[:, None] + (T_k - len(i)) * ("from the end" in faults))
    return seen & (place <= (x.place + offset)[:, None]) if causal else seen


@tiled({KEYS_LEAK, QUERIES_LEAK, STRADDLE})
def varlen_attention(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: bool,
    alpha: float, faults: Faults = NONE, tile: Tile = (32, 32), rounded: bool = False, order: str = PLAIN,
) -> Passes:  # fmt: skip
    """O and dQ [1, H, T_q, D], LSE [1, H, T_q], dK and dV [1, H, T_k, D]."""

    def narrow(x: Tensor) -> Tensor:
        return wide(x.to(q.dtype)) if rounded else x

    Q, K, V, dO = (wide(x) for x in (q, k, v, do))
    cu_q, cu_k, T_q, T_k = cu_seqlens_q.long(), cu_seqlens_k.long(), q.shape[2], k.shape[2]
    x = rows_of(cu_q, T_q, tile[0] if STRADDLE in faults else 1)
    seen = _visible(x, cu_q, cu_k, T_k, causal, faults, tile[1])
    raw = scores(Q, K, alpha, order)
    s = raw.masked_fill(~seen, -math.inf)
    m = s.amax(-1, keepdim=True)
    m = torch.where(m == -math.inf, 0.0, m)
    e = (s - m).exp()
    total = e.sum(-1, keepdim=True)
    o = ((narrow(e) @ V) / torch.where(total == 0, 1.0, total)).to(q.dtype)
    lse = m + total.log()

    delta = (wide(o) * dO).sum(-1, keepdim=True)
    again = lse
    if "LSE and delta at the place" in faults:
        again, delta = lse[:, :, x.place], delta[:, :, x.place]
    p, ds = _weights(s, again, delta, dO @ V.mT)
    dq = (alpha * narrow(ds) @ K).to(q.dtype)
    if faults & {QUERIES_LEAK, STRADDLE}:
        seen = _for_keys(cu_q, cu_k, T_q, T_k, causal, faults, tile)
        p, ds = _weights(raw.masked_fill(~seen, -math.inf), again, delta, dO @ V.mT)
    dk = (alpha * narrow(ds).mT @ Q).to(k.dtype)
    dv = (narrow(p).mT @ dO).to(v.dtype)
    return o, lse.squeeze(-1), dq, dk, dv


def _weights(s: Tensor, lse: Tensor, delta: Tensor, dp: Tensor) -> tuple[Tensor, Tensor]:
    p = torch.where(lse == -math.inf, 0.0, (s - torch.where(lse == -math.inf, 0.0, lse)).exp())
    return p, p * (dp - delta)


def _for_keys(
    cu_q: Tensor, cu_k: Tensor, T_q: int, T_k: int, causal: bool, faults: Faults, tile: Tile
) -> Tensor:
    """The pairs that dK and dV are made of where their kernel has a mistake of its own, [T_q, T_k]."""
    y = rows_of(cu_k, T_k, tile[1] if STRADDLE in faults else 1)
    first, end = cu_q[y.sequence], cu_q[y.sequence + 1]
    offset = y.length - (end - first)
    if QUERIES_LEAK in faults:
        end = first + -(-(end - first) // tile[0]) * tile[0]
    i = torch.arange(T_q, device=cu_q.device)[:, None]
    place = i - first[None, :]
    seen = (place >= 0) & (i < end[None, :])
    return seen & (y.place[None, :] <= place + offset[None, :]) if causal else seen


def rounded_passes(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: bool,
    alpha: float,
) -> Passes:  # fmt: skip
    """A twin that narrows P and dS to the inputs' dtype, as kernels do."""
    return varlen_attention(q, k, v, do, cu_seqlens_q, cu_seqlens_k, causal, alpha, rounded=True)


def in_another_order(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: bool,
    alpha: float,
) -> Passes:  # fmt: skip
    """A twin whose scores are summed over D one column after the other."""
    args = (q, k, v, do, cu_seqlens_q, cu_seqlens_k, causal, alpha)
    return varlen_attention(*args, rounded=True, order=IN_ORDER)


def scaled_first(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, cu_seqlens_q: Tensor, cu_seqlens_k: Tensor, causal: bool,
    alpha: float,
) -> Passes:  # fmt: skip
    """A twin that multiplies Q by alpha before the product."""
    args = (q, k, v, do, cu_seqlens_q, cu_seqlens_k, causal, alpha)
    return varlen_attention(*args, order=SCALED_FIRST)
