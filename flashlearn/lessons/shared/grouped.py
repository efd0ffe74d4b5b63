"""Attention whose keys and values are shared by groups of query heads: references, twins and faulty formulas.

    >>> o, lse = forward(reference.attention_forward)(q, k, v, causal=True, alpha=0.1)    # k with H_k heads

H_k divides H; head h of Q meets head h // (H / H_k) of K and V. A gradient of K is the sum over its group.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.faulty_formulas import forward as forward_faults
from flashlearn.lessons.shared.faulty_formulas.backward_tile import TILED
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled
from flashlearn.lessons.shared.faulty_formulas.forward import scan
from flashlearn.lessons.shared.faulty_formulas.gradients import dkv_scan, dq_scan


def for_heads(t: Tensor, H: int, interleaved: bool = False) -> Tensor:
    """K or V with a head for each of H query heads; `interleaved` takes head h % H_k, which is wrong."""
    groups = H // t.shape[1]
    return t.repeat(1, groups, 1, 1) if interleaved else t.repeat_interleave(groups, dim=1)


def at_heads_of_q(t: Tensor, H: int) -> Tensor:
    """K or V at the number of Q's own head, which is wrong: a head that does not exist holds zeros."""
    return torch.nn.functional.pad(t, (0, 0, 0, 0, 0, H - t.shape[1]))


def sum_over_groups(gradient: Tensor, like: Tensor) -> Tensor:
    """A gradient per query head, summed over the heads that share a key, in `like`'s dtype."""
    B, H, S, D = gradient.shape
    wide = gradient if gradient.dtype == torch.float64 else gradient.float()
    return wide.view(B, like.shape[1], H // like.shape[1], S, D).sum(2).to(like.dtype)


def forward(formula: Callable[..., tuple[Tensor, Tensor]]) -> Callable[..., tuple[Tensor, Tensor]]:
    """A formula of as many heads each as one of groups: (q, k, v, causal, alpha) → (o, lse)."""

    @functools.wraps(formula)
    def of_groups(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float) -> tuple[Tensor, Tensor]:
        H = q.shape[1]
        return formula(q, for_heads(k, H), for_heads(v, H), alpha, causal)

    return of_groups


def backward(formula: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
    """The same of gradients: (q, k, v, o, do, lse, causal, alpha) → (dq, dk, dv)."""

    @functools.wraps(formula)
    def of_groups(q, k, v, o, do, lse, causal, alpha) -> tuple[Tensor, Tensor, Tensor]:
        if q.shape[1] == k.shape[1]:
            return formula(q, k, v, o, do, lse, alpha, causal)
        many = (for_heads(t if t.dtype == torch.float64 else t.float(), q.shape[1]) for t in (k, v))
        dq, dk, dv = formula(q, *many, o, do, lse, alpha, causal)
        return dq, sum_over_groups(dk, k), sum_over_groups(dv, v)

    return of_groups


# ---------------------------------------------------------------- with faults by name

HEADS, HEADS_OF_KEYS = "heads dealt round", "heads dealt round for dK and dV"
"""The wrong heads everywhere, or in the kernel of dK and dV alone."""
K_AT_Q, V_AT_Q = "K at Q's head", "V at Q's head"
STATS_AT_K = "LSE and delta at K's head"
LOG2E_LEFT = frozenset({"log2 e left in dQ", "log2 e left in dK", "log2 e left in dQ and dK"})
PADDING = frozenset({"padded keys", "one padded key"})
"""Faults that a causal mask makes good: it hides padded keys as well."""


@tiled(forward_faults.TILED | {"stored where the program's number says"})
def faulty_forward(
    q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float, faults: Faults = NONE,
    tile: Tile = (32, 32),
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`scan` of groups, with faults of its own: of heads, of the order of blocks, of the folded scale."""
    many = [
        at_heads_of_q(t, q.shape[1]) if fault in faults else for_heads(t, q.shape[1], HEADS in faults)
        for t, fault in ((k, K_AT_Q), (v, V_AT_Q))
    ]
    if causal:
        faults = faults - PADDING
    if "q scaled in its dtype" in faults:
        wide = torch.float64 if q.dtype == torch.float64 else torch.float32
        o, lse = scan((q * (alpha * reference.LOG2E)).to(wide), *many, math.log(2), causal, faults, tile)
        return o.to(q.dtype), lse
    o, lse = scan(q, *many, alpha, causal, faults, tile)
    if "stored where the program's number says" in faults:
        beyond = (
            many[1].to(o.dtype).mean(2, keepdim=True),
            torch.full_like(lse[:, :, :1], math.log(k.shape[2])),
        )
        return _reverse_blocks(o, beyond[0], tile[0]), _reverse_blocks(lse, beyond[1], tile[0])
    return o, lse


def _reverse_blocks(x: Tensor, beyond: Tensor, size: int) -> Tensor:
    """[B, H, S, …] with its blocks of rows in the reverse order; `beyond` is what a padded row holds."""
    S = x.shape[2]
    blocks = -(-S // size)
    padded = torch.cat([x, beyond.expand(*x.shape[:2], blocks * size - S, *x.shape[3:])], dim=2)
    return padded.unflatten(2, (blocks, size)).flip(2).flatten(2, 3)[:, :, :S]


@tiled(TILED)
def faulty_backward(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, causal: bool, alpha: float,
    faults: Faults = NONE, tile: Tile = (32, 32),
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`dq_scan` and `dkv_scan` of groups, with faults of their own: of heads, and of the folded scale."""
    H, plain = q.shape[1], q.shape[1] == k.shape[1]
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    many = [
        [t if plain else for_heads(t.to(wide), H, bool(faults & wrong)) for t in (k, v)]
        for wrong in ({HEADS}, {HEADS, HEADS_OF_KEYS})
    ]
    for_queries, for_keys = ((q, *kv, o, do, lse, alpha, causal, faults, tile) for kv in many)
    dq, (dk, dv) = dq_scan(*for_queries), dkv_scan(*_with_stats_at_k(for_keys, H // k.shape[1], faults))
    left = LOG2E_LEFT & faults
    dq = (dq * reference.LOG2E).to(q.dtype) if any("dQ" in fault for fault in left) else dq
    dk = dk * reference.LOG2E if any("dK" in fault for fault in left) else dk
    if plain:
        return dq, dk.to(k.dtype), dv
    if faults & {HEADS, HEADS_OF_KEYS}:  # the sum over the interleaved heads
        shape = (k.shape[0], H // k.shape[1], k.shape[1], *k.shape[2:])
        return dq, dk.view(shape).sum(1).to(k.dtype), dv.view(shape).sum(1).to(v.dtype)
    if "one head of the group" in faults:
        group = H // k.shape[1]
        one = slice(0 if "the first one" in faults else group - 1, None, group)
        return dq, dk[:, one].to(k.dtype), dv[:, one].to(v.dtype)
    return dq, sum_over_groups(dk, k), sum_over_groups(dv, v)


def _with_stats_at_k(given: tuple, group: int, faults: Faults) -> tuple:
    """With STATS_AT_K, LSE and O · dO (so delta) of a head of Q are those of the head with K's number."""
    if STATS_AT_K not in faults or group == 1:
        return given
    q, k, v, o, do, lse, *rest = given
    B, H = lse.shape[:2]
    number = torch.arange(B * H // group, device=lse.device).view(B, -1).repeat_interleave(group, 1)
    delta = (o.to(k.dtype) * do.to(k.dtype)).sum(-1).flatten(0, 1)[number]
    size = (do.to(k.dtype) ** 2).sum(-1).clamp(min=1e-30)
    moved = do.to(k.dtype) * (delta / size)[..., None]  # an O whose delta is the other head's
    return q, k, v, moved, do, lse.flatten(0, 1)[number], *rest
