"""Attention with a sink in torch, both passes: right, at the learner's precision, and with faults by name.

    >>> o, lse, dq, dk, dv, dlogits = sink_attention(q, k, v, do, logits, alpha)     # causal

Each head has a learned logit that joins its softmax's denominator and no value: weights of a row sum to less
than 1 (gpt-oss, arXiv 2508.10925, section 2.2; with the logit fixed at 0, "Attention is off by one", Miller,
2023). LSE includes the sink.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.lessons.lesson_15_variants.dropout_formulas import IN_ORDER, PLAIN, SCALED_FIRST, scores, wide
from flashlearn.lessons.lesson_15_variants.passes import whole_tiles
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled

Passes = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]

OWN = "the logits themselves in dlogits"
IN_BASE_2 = "in base 2"
FIRST_SUM = "exp(logit) beside the maximum logit"
PER_TILE, LAST_BLOCK = "a sink in every tile", "the last block's share"
NO_MASK, NOTHING_YET = "no mask", "a sum of 0 beside the maximum logit"


@tiled({PER_TILE, LAST_BLOCK, NO_MASK})
def sink_attention(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, logits: Tensor, alpha: float, causal: bool = True,
    faults: Faults = NONE, tile: Tile = (32, 32), rounded: bool = False, order: str = PLAIN,
) -> Passes:  # fmt: skip
    """O, LSE, dQ, dK, dV, dlogits [H] of tensors [B, H, S, D] and logits [H]."""

    def narrow(x: Tensor) -> Tensor:
        return wide(x.to(q.dtype)) if rounded else x

    Q, K, V, dO = (wide(x) for x in (q, k, v, do))
    exp = _exp_in_base_2 if order == IN_BASE_2 else torch.exp
    s = scores(Q, K, alpha, order)
    seen = reference.visible(q.shape[2], k.shape[2], causal, q.device)
    s = s.masked_fill(~(whole_tiles(seen, tile) if NO_MASK in faults else seen), -math.inf)
    sink = _logits(s, logits, alpha, faults)
    m = s.amax(-1, keepdim=True)
    m = m if "sink not in m" in faults else torch.maximum(m, sink)
    m = torch.where(m == -math.inf, 0.0, m)
    e = exp(s - m)
    weight = exp(sink - m)
    if "sink not in m" in faults:  # what fp32 makes of it, whatever precision the rest has
        weight = (sink - m).float().exp().to(s.dtype)
    if NOTHING_YET in faults:  # in fp32 the scores' own weights may all be 0
        e, weight = (s - m).float().exp().to(s.dtype), torch.zeros_like(weight)
    if FIRST_SUM in faults:
        weight = weight * sink.float().exp().to(s.dtype)
    total = e.sum(-1, keepdim=True) + weight * _sinks_counted(s, causal, faults, tile)
    o = ((narrow(e) @ V) / torch.where(total == 0, 1.0, total)).to(q.dtype)
    lse = m + total.log()
    if "sink not in LSE" in faults:
        lse = reference.logsumexp(s)[..., None]

    p = torch.where(lse == -math.inf, 0.0, exp(s - torch.where(lse == -math.inf, 0.0, lse)))
    delta = (wide(o) * dO).sum(-1, keepdim=True)
    dp = dO @ V.mT
    ds = p * (dp - delta)
    if "delta omitted" in faults:
        ds = p * dp
    ds, dv = narrow(ds), narrow(p).mT @ dO
    if OWN in faults:  # the mistake is in the forward pass alone
        sink = _logits(s, logits, alpha, NONE)
    dlogits = _gradient(sink, lse, delta, alpha, faults, tile)
    gradients = (alpha * ds @ K).to(q.dtype), (alpha * ds.mT @ Q).to(k.dtype), dv.to(v.dtype)
    return o, lse.squeeze(-1), *gradients, dlogits.to(logits.dtype)


def _exp_in_base_2(x: Tensor) -> Tensor:
    return torch.exp2(x * math.log2(math.e))


def _logits(s: Tensor, logits: Tensor, alpha: float, faults: Faults) -> Tensor:
    """The logit of each row, [B, H, S_q, 1]."""
    B, H, S_q, _ = s.shape
    logit = logits.to(s.dtype)
    if "the first head's sink" in faults:
        logit = logit[:1].expand(H)
    if "a sink of 0" in faults:
        logit = torch.zeros_like(logit)
    if "sink scaled" in faults:
        logit = alpha * logit
    if "no sink" in faults:
        logit = torch.full_like(logit, -math.inf)
    if "sink in base 2" in faults:
        logit = logit * math.log(2)
    return logit.view(1, H, 1, 1).expand(B, H, S_q, 1)


def _sinks_counted(s: Tensor, causal: bool, faults: Faults, tile: Tile) -> Tensor | float:
    """How often the sink's weight is in the sum: once; or once per tile, [S_q, 1]."""
    if PER_TILE not in faults:
        return 1.0
    S_q, S_k = s.shape[-2:]
    end = torch.full((S_q,), S_k, device=s.device)
    if causal:
        block = torch.arange(S_q, device=s.device) // tile[0]
        end = ((block + 1) * tile[0] + S_k - S_q).clamp(0, S_k)
    return (-(-end // tile[1])).to(s.dtype)[:, None]


def _gradient(sink: Tensor, lse: Tensor, delta: Tensor, alpha: float, faults: Faults, tile: Tile) -> Tensor:
    """dlogits [H]: minus the sum over batches and queries of the sink's own weight times delta."""
    own = (sink - lse).exp()
    if "sink's weight forgotten" in faults:
        share = -delta
    elif "delta forgotten in dlogits" in faults:
        share = -own
    elif "a value of 1" in faults:
        share = own * (1 - delta)
    else:
        share = own * delta if "sign of dlogits" in faults else -own * delta
    if "alpha on dlogits" in faults:
        share = alpha * share
    if "one batch" in faults:
        return share[-1:].sum((0, 2, 3))
    if "the first batch" in faults:
        return share[:1].sum((0, 2, 3))
    if "mean over queries" in faults:
        return share.mean((0, 2, 3))
    if LAST_BLOCK in faults:
        S_q = share.shape[2]
        return share[:, :, (S_q - 1) // tile[0] * tile[0] :].sum((0, 2, 3))
    return share.sum((0, 2, 3))


def rounded_passes(q: Tensor, k: Tensor, v: Tensor, do: Tensor, logits: Tensor, alpha: float) -> Passes:
    """A twin that narrows P and dS to the inputs' dtype, as kernels do."""
    return sink_attention(q, k, v, do, logits, alpha, rounded=True)


def in_another_order(q: Tensor, k: Tensor, v: Tensor, do: Tensor, logits: Tensor, alpha: float) -> Passes:
    """A twin whose scores are summed over D one column after the other."""
    return sink_attention(q, k, v, do, logits, alpha, rounded=True, order=IN_ORDER)


def scaled_first(q: Tensor, k: Tensor, v: Tensor, do: Tensor, logits: Tensor, alpha: float) -> Passes:
    """A twin that multiplies Q by alpha before the product."""
    return sink_attention(q, k, v, do, logits, alpha, order=SCALED_FIRST)


def in_base_2(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, logits: Tensor, alpha: float, first: int
) -> Passes:
    """A twin with exponentials as powers of 2, whose sums over D begin with column `first`.

    Delta and dlogits nearly cancel at times, and dlogits is a few numbers: one order of summation alone says
    little about what rounding leaves of them.
    """
    moved = (x.roll(-first, -1) for x in (q, k, v, do))
    o, lse, dq, dk, dv, dlogits = sink_attention(*moved, logits, alpha, order=IN_BASE_2)
    o, dq, dk, dv = (x.roll(first, -1) for x in (o, dq, dk, dv))
    return o, lse, dq, dk, dv, dlogits
