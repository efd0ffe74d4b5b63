"""Every variant at once in torch, both passes: right, at the learner's precision, and with faults by name.

    >>> o, lse, dq, dk, dv, dlogits = everything(
    ...     q, k, v, do, slopes, logits, cu_seqlens_q, cu_seqlens_k, causal, window, cap, p, seed, alpha
    ... )

Sequences lie one after another, as in varlen_formulas. s = cap · tanh(x / cap) − slope · distance for x =
alpha q · k and distance = i + S_k − S_q − j within the sequence; a window belongs to a causal mask; the
number of a weight counts packed rows and columns, (h · T_q + row) · T_k + column. A window of 0, a cap of 0
and a logit of −∞ are none.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from flashlearn.lessons.lesson_15_variants import passes, philox, varlen_formulas
from flashlearn.lessons.lesson_15_variants.varlen_formulas import Rows, rows_of
from flashlearn.lessons.shared import grouped
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults

Outputs = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]

PLACED_ROWS, PLACED_COLUMNS = "rows counted in the sequence", "columns counted in the sequence"
"""Of a weight's number, whose lengths are those of the packed tensors all the same."""


def everything(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, slopes: Tensor, logits: Tensor, cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor, causal: bool, window: int, cap: float, p: float, seed: int, alpha: float,
    faults: Faults = NONE, rounding: passes.Rounding = passes.exact, reverse: bool = False,
) -> Outputs:  # fmt: skip
    """O and dQ [1, H, T_q, D], LSE [1, H, T_q], dK and dV [1, H_k, T_k, D], dlogits [H]."""
    like_k, dealt = k, "heads dealt round" in faults
    if dealt:
        k, v = (grouped.for_heads(t, q.shape[1], interleaved=True) for t in (k, v))
    if reverse:  # every sum over D from the other end
        q, k, v, do = (t.flip(-1) for t in (q, k, v, do))
    x = rows_of(cu_seqlens_q.long(), q.shape[2])
    y = rows_of(cu_seqlens_k.long(), k.shape[2])
    distance = _distances(x, y, q, cu_seqlens_k.long())
    seen = varlen_formulas.visible(x, cu_seqlens_q, cu_seqlens_k, k.shape[2], causal)
    if causal and window:
        seen = seen & (distance < window + ("window one too wide" in faults))
    bias = passes.wide(slopes).to(distance.dtype).view(1, -1, 1, 1) * distance
    if "slopes counted in the batch" in faults:
        i, j = (torch.arange(t.shape[2], device=q.device) for t in (q, k))
        bias = slopes.to(distance.dtype).view(1, -1, 1, 1) * (i[:, None] - j[None, :])

    def score(s: Tensor) -> Tensor:
        if "cap after the slope" in faults:
            return _capped(s - bias, cap)
        return _capped(s, cap) - bias

    def derivative(s: Tensor) -> Tensor:
        if "no derivative of the cap" in faults:
            return torch.ones_like(s)
        if "slope in the derivative" in faults:
            return 1 - (score(s) / cap) ** 2 if cap else torch.ones_like(s)
        return _slope_of_cap(s - bias if "cap after the slope" in faults else s, cap)

    weights = _weights(q, k, x, y, p, seed, faults)
    shared = {"score": score, "seen": seen, "weights": weights, "rounding": rounding}
    o, lse = passes.forward(q, k, v, alpha, **shared, sink=logits)
    gradients = passes.gradients(q, k, v, o, do, lse, alpha, derivative=derivative, **shared)
    if dealt:
        dq, *of_keys = gradients
        gradients = (dq, *(t.unflatten(1, (-1, like_k.shape[1])).sum(1).to(t.dtype) for t in of_keys))
    dlogits = _sink_gradient(logits, o, do, lse, cu_seqlens_q, faults).to(logits.dtype)
    if reverse:
        o, gradients = o.flip(-1), tuple(t.flip(-1) for t in gradients)
    return o, lse, *gradients, dlogits


def _distances(x: Rows, y: Rows, like: Tensor, cu_k: Tensor) -> Tensor:
    """i + S_k − S_q − j, counted within the query's sequence, [T_q, T_k]."""
    keys = cu_k[x.sequence + 1] - cu_k[x.sequence]
    place = torch.arange(len(y.place), device=like.device)[None, :] - cu_k[x.sequence][:, None]
    distance = (x.place + keys - x.length)[:, None] - place
    return distance.to(torch.float64 if like.dtype == torch.float64 else torch.float32)


def _capped(s: Tensor, cap: float) -> Tensor:
    return cap * torch.tanh(s / cap) if cap else s


def _slope_of_cap(s: Tensor, cap: float) -> Tensor:
    return 1 - torch.tanh(s / cap) ** 2 if cap else torch.ones_like(s)


def _weights(q: Tensor, k: Tensor, x: Rows, y: Rows, p: float, seed: int, faults: Faults) -> Tensor | float:
    """What P is multiplied by before it meets V: 0 or 1 / (1 − p)."""
    if not p:
        return 1.0
    H, T_q, T_k = q.shape[1], q.shape[2], k.shape[2]
    at = philox.positions(1, H, T_q, T_k, q.device)
    if "numbers counted in the sequence" in faults:
        h = torch.arange(H, device=q.device).view(1, H, 1, 1)
        if "and the sequence's number" in faults:  # b · H + h in place of h
            h = h + H * x.sequence[:, None]
        at = (h * x.length[:, None] + x.place[:, None]) * y.length[None, :] + y.place[None, :]
    elif faults & {PLACED_ROWS, PLACED_COLUMNS}:
        rows, columns = (torch.arange(n, device=q.device) for n in (T_q, T_k))
        rows = x.place if PLACED_ROWS in faults else rows
        columns = y.place if PLACED_COLUMNS in faults else columns
        h = torch.arange(H, device=q.device).view(1, H, 1, 1)
        at = (h * T_q + rows[:, None]) * T_k + columns[None, :]
    kept = philox.uniform(seed, at) >= p
    return kept.to(passes.wide(q).dtype) / (1 - p)


def _sink_gradient(
    logits: Tensor, o: Tensor, do: Tensor, lse: Tensor, cu_seqlens_q: Tensor, faults: Faults
) -> Tensor:
    wide = torch.float64 if o.dtype == torch.float64 else torch.float32
    logit = logits.to(wide).view(1, -1, 1)
    own = torch.where(lse == -math.inf, 0.0, (logit - torch.where(lse == -math.inf, 0.0, lse)).exp())
    share = -own * (passes.wide(o) * passes.wide(do)).sum(-1)
    if "last sequence in dlogits" in faults:
        share = share[:, :, int(cu_seqlens_q[-2]) :]
    return share.sum((0, 2))


def scaled_first(**inputs: Any) -> Outputs:
    """A twin that multiplies Q by alpha before the product, in fp32."""
    q, k, v, alpha = (inputs[name] for name in ("q", "k", "v", "alpha"))
    wide = {name: passes.wide(inputs[name]) for name in ("k", "v", "do")}
    asked = {**inputs, "q": passes.wide(q) * alpha, **wide, "alpha": 1.0}
    o, lse, dq, dk, dv, dlogits = everything(**asked)
    return o.to(q.dtype), lse, (alpha * dq).to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), dlogits


def as_kernels_round(**inputs: Any) -> Outputs:
    """A twin that rounds P and dS to the inputs' dtype before they are multiplied."""
    return everything(**inputs, rounding=passes.as_kernels_round)


def in_reverse(**inputs: Any) -> Outputs:
    """The same, with every sum over D from the other end."""
    return everything(**inputs, rounding=passes.as_kernels_round, reverse=True)
