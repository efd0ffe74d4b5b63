"""Both passes of a variant in plain torch: what the exercises of this lesson compare with.

    >>> o, lse = forward(q, k, v, alpha, score=lambda x: x / 2, seen=seen)
    >>> dq, dk, dv = gradients(q, k, v, o, do, lse, alpha, score=…, derivative=lambda x: 0.5, seen=seen)

A variant is a score, which is a function of alpha Q Kᵀ and has a derivative, a mask `seen` that broadcasts to
[B, H, S_q, S_k], weights that multiply P before it meets V, and a sink: a score per head [H] that takes part
in the softmax and has no value. With fp64 tensors a formula is the truth, with the learner's own a twin.
A query that sees nothing has O = 0 and LSE = −inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.lessons.shared import grouped

Function = Callable[[Tensor], Tensor]
"""Of a tile alpha Q Kᵀ, element by element."""
Rounding = Callable[[Tensor, torch.dtype], Tensor]
"""What happens to P and dS before a product: the identity, or rounding to the inputs' dtype."""


def exact(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Not rounded."""
    return x


def as_kernels_round(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Rounded to the dtype of what it is multiplied by, and widened again."""
    return wide(x.to(dtype))


def wide(x: Tensor) -> Tensor:
    """In the precision that sums are carried in."""
    return x if x.dtype == torch.float64 else x.float()


def same(x: Tensor) -> Tensor:
    """The score of plain attention."""
    return x


def one(x: Tensor) -> Tensor:
    """Its derivative."""
    return torch.ones_like(x)


def visible(S_q: int, S_k: int, like: Tensor, window: int | None = None) -> Tensor:
    """[S_q, S_k]: causal, aligned bottom-right, and at most `window` keys back if that is given."""
    i = torch.arange(S_q, device=like.device)[:, None] + S_k - S_q
    j = torch.arange(S_k, device=like.device)[None, :]
    return (j <= i) if window is None else (j <= i) & (j > i - window)


def distances(S_q: int, S_k: int, like: Tensor) -> Tensor:
    """[S_q, S_k]: how far key j is before query i's own place i + S_k − S_q."""
    i = torch.arange(S_q, device=like.device)[:, None] + S_k - S_q
    return wide(i - torch.arange(S_k, device=like.device)[None, :]).to(wide(like).dtype)


def scores(q: Tensor, k: Tensor, alpha: float, score: Function = same, seen: Tensor | None = None) -> Tensor:
    """S [B, H, S_q, S_k], −inf where a key is hidden; K has a head for each of Q's."""
    s = score(alpha * (wide(q) @ wide(k).mT))
    return s if seen is None else s.masked_fill(~seen, -math.inf)


def forward(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, score: Function = same, seen: Tensor | None = None,
    weights: Tensor | float = 1.0, sink: Tensor | None = None, rounding: Rounding = exact,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """O in q's dtype and LSE, in fp32 at least; K and V may have fewer heads than Q."""
    k, v = grouped.for_heads(k, q.shape[1]), grouped.for_heads(v, q.shape[1])
    s = scores(q, k, alpha, score, seen)
    of_sink = torch.full_like(s[..., :1], -math.inf) if sink is None else _per_head(sink, s)
    m = torch.maximum(s.amax(-1, keepdim=True), of_sink)
    m = torch.where(m == -math.inf, 0.0, m)
    e = (s - m).exp()
    total = e.sum(-1, keepdim=True) + (of_sink - m).exp()
    acc = rounding(e * weights, v.dtype) @ wide(v)
    o = acc / torch.where(total == 0, 1.0, total)
    return o.to(q.dtype), (m + total.log()).squeeze(-1)


def gradients(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    score: Function = same, derivative: Function = one, seen: Tensor | None = None,
    weights: Tensor | float = 1.0, rounding: Rounding = exact,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(dQ, dK, dV), each in its tensor's dtype and with its heads; `derivative` is of the score, at x."""
    H, many = q.shape[1], [wide(grouped.for_heads(t, q.shape[1])) for t in (k, v)]
    s = scores(q, many[0], alpha, score, seen)
    lse = wide(lse).unsqueeze(-1)
    p = torch.where(lse == -math.inf, 0.0, (s - torch.where(lse == -math.inf, 0.0, lse)).exp())
    dv = rounding(p * weights, do.dtype).mT @ wide(do)
    dp = (wide(do) @ many[1].mT) * weights
    ds = p * (dp - (wide(o) * wide(do)).sum(-1, keepdim=True))
    dx = rounding(ds * derivative(alpha * (wide(q) @ many[0].mT)), q.dtype)
    dk = alpha * dx.mT @ wide(q)
    if H != k.shape[1]:
        dk, dv = grouped.sum_over_groups(dk, wide(k)), grouped.sum_over_groups(dv, wide(v))
    return (alpha * dx @ many[0]).to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


def both(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float, score: Function = same,
    derivative: Function = one, seen: Tensor | None = None, weights: Tensor | float = 1.0,
    sink: Tensor | None = None, rounding: Rounding = exact,
) -> tuple[Tensor, ...]:  # fmt: skip
    """(o, lse, dq, dk, dv) of a variant."""
    o, lse = forward(q, k, v, alpha, score, seen, weights, sink, rounding)
    return o, lse, *gradients(q, k, v, o, do, lse, alpha, score, derivative, seen, weights, rounding)


Spelling = Callable[..., tuple[Tensor, ...]]
"""(q, k, v, do, alpha, …) → (o, lse, dq, dk, dv), as `both`."""


def rounded(*tensors: Tensor, **variant: object) -> tuple[Tensor, ...]:
    """The same as kernels do it: P and dS have the inputs' dtype where they meet another operand."""
    return both(*tensors, **variant, rounding=as_kernels_round)


def from_the_other_end(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float, **variant: object):
    """The same with every sum over D taken from the other end."""
    o, lse, *of_inputs = rounded(*(t.flip(-1) for t in (q, k, v, do)), alpha, **variant)
    dq, dk, dv = (t.flip(-1) for t in of_inputs)
    return o.flip(-1), lse, dq, dk, dv


def scaled_first(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float, **variant: object):
    """The same with alpha multiplied into Q before the product, in fp32: each score rounds differently."""
    o, lse, dq, dk, dv = both(wide(q) * alpha, wide(k), wide(v), wide(do), 1.0, **variant)
    return o.to(q.dtype), lse, (alpha * dq).to(q.dtype), dk.to(k.dtype), dv.to(v.dtype)


SPELLINGS: tuple[Spelling, ...] = (rounded, from_the_other_end, scaled_first)
"""How right kernels may round, besides the reference's own way."""


def _per_head(sink: Tensor, s: Tensor) -> Tensor:
    return wide(sink).to(s.dtype).view(1, -1, 1, 1).expand(s.shape[0], -1, s.shape[2], 1)


def whole_tiles(seen: Tensor, tile: tuple[int, int]) -> Tensor:
    """[S_q, S_k]: every pair of the tiles, [queries, keys], in which `seen` has one."""
    S_q, S_k = seen.shape
    rows, columns = (math.ceil(n / size) * size for n, size in zip(seen.shape, tile, strict=True))
    whole = torch.zeros(rows, columns, dtype=torch.bool, device=seen.device)
    whole[:S_q, :S_k] = seen
    found = whole.view(rows // tile[0], tile[0], columns // tile[1], tile[1]).any(3).any(1)
    return found.repeat_interleave(tile[0], 0).repeat_interleave(tile[1], 1)[:S_q, :S_k]
