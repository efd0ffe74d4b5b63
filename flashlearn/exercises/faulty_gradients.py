"""The backward kernels' tiles in torch, with faults by name: what the mistakes of lessons 07 and 08 compute.

    >>> dq = dq_scan(q, k, v, o, do, lse, alpha, faults=frozenset({"delta omitted"}))
    >>> dk, dv = dkv_scan(q, k, v, o, do, lse, alpha, causal=True, tile=(64, 32))     # no fault: right

Several faults can be made at once. `tile` is (queries, keys). Sums are carried in fp32, or in fp64 for fp64
inputs; P and dS are rounded to the inputs' dtype before the products that use them, as in the kernels.
A fault that needs square tiles raises ValueError for others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

NONE: frozenset[str] = frozenset()
At = range | Tensor
"""Numbers of a tile's rows or columns: in one piece, or as a fault has them."""
TILED = frozenset(
    {
        "LSE along the keys",
        "delta along the keys",
        "delta of one tile",
        "delta of the first rows",
        "dS transposed",
        "dS not transposed",
        "P not transposed",
        "dS meets K",
        "alpha in every step",
        "last tile alone",
        "ends one block early",
        "ends at the top-left diagonal",
        "whole blocks only",
        "ends at S_q",
        "ends at S_k",
        "first tile skipped",
        "starts one block late",
        "starts at the top-left diagonal",
        "start rounded up",
        "top-left",
        "top-left mask",
        "one key too many",
        "offset turned round",
        "no early end",
        "clamped rows",
        "LSE filled with -inf",
        "padded keys",
        "accumulator in half",
        "hidden scores are 0",
        "hidden pairs weigh 1",
        "K stays",
        "V stays",
        "Q stays",
        "dO stays",
        "no guard",
    }
)
"""Faults whose result depends on the shape of the tiles."""


@dataclass(frozen=True)
class Scan:
    """One call: the inputs in the precision of the sums, and what is to go wrong."""

    q: Tensor
    k: Tensor
    v: Tensor
    o: Tensor
    do: Tensor
    lse: Tensor
    alpha: float
    causal: bool
    faults: frozenset[str]
    narrow: torch.dtype

    @property
    def offset(self) -> int:
        """S_k − S_q: query i sees keys up to i + offset."""
        return self.k.shape[2] - self.q.shape[2]

    def last_seen(self, rows: Tensor) -> Tensor:
        """The last key that each query may attend to, with the faults of the mask."""
        S_k = self.k.shape[2]
        if not self.causal or "no causal mask" in self.faults:
            return torch.full_like(rows, S_k)
        shift = 0 if self.faults & {"top-left", "top-left mask"} else self.offset
        if "offset turned round" in self.faults:
            shift = -self.offset
        shift += ("one key too many" in self.faults) - ("diagonal hidden" in self.faults)
        return rows + shift

    def rounded(self, x: Tensor) -> Tensor:
        """x as it enters a product: in the inputs' dtype."""
        return x.to(self.narrow).to(x.dtype)


def _scan(q, k, v, o, do, lse, alpha, causal, faults) -> Scan:
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    return Scan(*(t.to(wide) for t in (q, k, v, o, do, lse)), alpha, causal, faults, q.dtype)


def _take(t: Tensor, at: At, filler: float = 0.0) -> Tensor:
    """Rows of a tile, [B, H, rows, D] or [B, H, rows]: what lies beyond the end holds `filler`."""
    length = t.shape[2]
    if isinstance(at, range):
        inside = t[:, :, at.start : at.stop]
        missing = len(at) - inside.shape[2]
        padding = (0, 0, 0, missing) if t.ndim == 4 else (0, missing)
        return torch.nn.functional.pad(inside, padding, value=filler) if missing else inside
    taken = t[:, :, at.clamp(0, length - 1)]
    beyond = at >= length
    return torch.where(~beyond[:, None] if t.ndim == 4 else ~beyond, taken, filler)


def _numbers(at: At) -> Tensor:
    """A tile's row or column numbers as a tensor."""
    return torch.arange(at.start, at.stop) if isinstance(at, range) else at


def _square(rows: At, columns: At) -> None:
    if len(rows) != len(columns):
        raise ValueError("this fault needs square tiles")


def _lse_of(x: Scan, index: At, filler: float) -> Tensor:
    """LSE of a tile's queries; where it is −inf, nothing is to be seen, and +inf makes P 0."""
    lse = _take(x.lse, index, filler)
    if "no guard" in x.faults:
        return lse
    return torch.where(lse == -math.inf, 0.0 if "guarded by 0" in x.faults else math.inf, lse)


def _probabilities(x: Scan, q: Tensor, k: Tensor, lse: Tensor, rows: At, columns: At) -> Tensor:
    """P of one tile, [B, H, rows, columns]."""
    alpha = 1.0 if "alpha not in s" in x.faults else x.alpha
    s = (alpha * x.alpha if "alpha twice in s" in x.faults else alpha) * (q @ k.mT)
    keys = _numbers(columns)
    seen = keys <= x.last_seen(_numbers(rows))[:, None]
    if "padded keys" not in x.faults:
        seen = seen & (keys < x.k.shape[2])
    s = torch.where(seen, s, 0.0 if "hidden scores are 0" in x.faults else -math.inf)
    if "LSE along the keys" in x.faults:
        _square(rows, columns)
    lse = lse[..., None, :] if "LSE along the keys" in x.faults else lse[..., :, None]
    if "LSE in base 2" in x.faults:
        lse = lse * math.log(2)
    if "LSE forgotten" in x.faults:
        lse = torch.where(lse == math.inf, lse, 0.0)
    if "log2 e not in s" in x.faults:
        s = s * math.log(2)
    base = math.log(2) if "exp2 of natural numbers" in x.faults else 1.0
    p = (base * (s - lse)).exp()
    return torch.where(seen, p, 1.0) if "hidden pairs weigh 1" in x.faults else p


def _tile(x: Scan, q, k, v, o, do, lse, rows: At, columns: At) -> tuple[Tensor, Tensor]:
    """P and dS of one tile."""
    p = _probabilities(x, q, k, lse, rows, columns)
    left = q if "dP from Q" in x.faults else o if "dP from O" in x.faults else do
    dp = left @ (k if "dP from K" in x.faults else v).mT
    if "dP in half" in x.faults:
        dp = x.rounded(dp)
    delta = (o * do).sum(-1)
    if "delta from O alone" in x.faults:
        delta = (o * o).sum(-1)
    if "delta is the sum of O" in x.faults:
        delta = o.sum(-1)
    if "delta from dO alone" in x.faults:
        delta = (do * do).sum(-1)
    if "delta of the first rows" in x.faults:
        delta = _take((x.o * x.do).sum(-1), range(len(rows)))
    if "delta times l" in x.faults:
        delta = delta * _sums(x, rows)
    if "delta of the first head" in x.faults:
        delta = (x.o * x.do).sum(-1)[:1, :1]
        delta = _take(delta, rows).expand(x.o.shape[0], x.o.shape[1], -1)
    if "delta is the sum of dP" in x.faults:
        delta = (do @ x.v.sum(2, keepdim=True).mT).squeeze(-1)
    if "delta of one tile" in x.faults:
        delta = (p * dp).sum(-1)
    if "delta omitted" in x.faults:
        delta = torch.zeros_like(delta)
    if "delta added" in x.faults:
        delta = -delta
    if "delta along the keys" in x.faults:
        _square(rows, columns)
    delta = delta[..., None, :] if "delta along the keys" in x.faults else delta[..., :, None]
    if "delta after P" in x.faults:
        return p, p * dp - delta
    return p, (dp - delta if "P forgotten in dS" in x.faults else p * (dp - delta))


def _sums(x: Scan, rows: At) -> Tensor:
    """l of each query, relative to the maximum of its visible scores; 0 where it sees nothing."""
    index = _numbers(rows).clamp(max=x.q.shape[2] - 1)
    s = x.alpha * x.q[:, :, index] @ x.k.mT
    s = s.masked_fill(torch.arange(x.k.shape[2]) > x.last_seen(index)[:, None], -math.inf)
    return (x.lse[:, :, index] - s.amax(-1)).exp().nan_to_num(0.0)


def _narrow(x: Scan, ds: Tensor) -> Tensor:
    """dS as it enters a product."""
    return ds.to(torch.float16).to(ds.dtype) if "dS in fp16" in x.faults else x.rounded(ds)


def _sum(x: Scan, total: Tensor, step: Tensor) -> Tensor:
    """The accumulator after one more tile."""
    if "last tile alone" in x.faults:
        return step
    if "accumulator in half" in x.faults:
        return x.rounded(total + x.rounded(step))
    return total + step


# ---------------------------------------------------------------- dQ


def dq_scan(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    causal: bool = False, faults: frozenset[str] = NONE, tile: tuple[int, int] = (32, 32),
) -> Tensor:  # fmt: skip
    """dQ [B, H, S_q, D] in q's dtype, a block of queries after the other."""
    x = _scan(q, k, v, o, do, lse, alpha, causal, faults)
    blocks = []
    for first in range(0, q.shape[2], tile[0]):
        rows = range(first, first + tile[0])
        inside = min(tile[0], q.shape[2] - first)
        blocks.append(_dq_block(x, rows, tile)[:, :, :inside])
    dq = torch.cat(blocks, dim=2)
    if "alpha not on dQ" not in faults:
        dq = alpha * dq
    return (alpha * dq if "alpha twice on dQ" in faults else dq).to(q.dtype)


def _dq_block(x: Scan, rows: range, tile: tuple[int, int]) -> Tensor:
    q, o, do = (_take(t, rows) for t in (x.q, x.o, x.do))
    lse = _lse_of(x, rows, 0.0)
    dq = torch.zeros_like(q)
    begin, end = _keys(x, rows.start, tile)
    for start in range(begin, end, tile[1]):
        columns, stays = range(start, start + tile[1]), range(tile[1])
        k = _take(x.k, stays if "K stays" in x.faults else columns)
        v = _take(x.v, stays if "V stays" in x.faults else columns)
        _, ds = _tile(x, q, k, v, o, do, lse, rows, columns)
        ds = _narrow(x, ds)
        if "dS transposed" in x.faults:
            _square(rows, columns)
            ds = ds.mT
        dq = _sum(x, dq, ds @ (v if "dS meets V" in x.faults else k))
        if "alpha in every step" in x.faults and start + tile[1] < end:
            dq = x.alpha * dq
    return dq


def _keys(x: Scan, first: int, tile: tuple[int, int]) -> tuple[int, int]:
    """Where the loop over keys begins and ends, for the block of queries that begins at `first`."""
    S_k = x.k.shape[2]
    end = S_k
    if x.causal and "no causal mask" not in x.faults:
        end = min(S_k, first + tile[0] + x.offset + ("one key too many" in x.faults))
    if "top-left" in x.faults:
        end = min(S_k, first + tile[0])
    if x.faults & {"offset turned round", "no early end"}:
        end = S_k
    if "ends one block early" in x.faults:
        end = min(S_k, first + x.offset) if x.causal else (S_k - 1) // tile[1] * tile[1]
    if "ends at the top-left diagonal" in x.faults:
        end = min(S_k, first + tile[0])
    if "whole blocks only" in x.faults:
        end = S_k // tile[1] * tile[1]
    if "ends at S_q" in x.faults:
        end = min(S_k, x.q.shape[2])
    return (tile[1] if "first tile skipped" in x.faults else 0), end


# ---------------------------------------------------------------- dK and dV


def dkv_scan(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    causal: bool = False, faults: frozenset[str] = NONE, tile: tuple[int, int] = (32, 32),
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """dK and dV [B, H, S_k, D] in their inputs' dtypes, a block of keys after the other."""
    x = _scan(q, k, v, o, do, lse, alpha, causal, faults)
    dks, dvs = [], []
    for first in range(0, k.shape[2], tile[1]):
        columns = range(first, first + tile[1])
        inside = min(tile[1], k.shape[2] - first)
        dk, dv = _dkv_block(x, columns, tile)
        dks.append(dk[:, :, :inside])
        dvs.append(dv[:, :, :inside])
    dk, dv = torch.cat(dks, dim=2), torch.cat(dvs, dim=2)
    if "alpha not on dK" not in faults:
        dk = alpha * dk
    if "alpha twice on dK" in faults:
        dk = alpha * dk
    if "alpha on dV" in faults:
        dv = alpha * dv
    if "dK stored as dV" in faults:
        dv = dk
    if "exchanged" in faults:
        dk, dv = dv, dk
    return dk.to(k.dtype), dv.to(v.dtype)


def _dkv_block(x: Scan, columns: range, tile: tuple[int, int]) -> tuple[Tensor, Tensor]:
    k, v = (_take(t, columns) for t in (x.k, x.v))
    dk, dv = torch.zeros_like(k), torch.zeros_like(v)
    begin, end = _queries(x, columns.start, tile)
    for start in range(begin, end, tile[0]):
        rows: At = range(start, start + tile[0])
        stays = range(tile[0])
        if "clamped rows" in x.faults:
            rows = _numbers(rows).clamp(max=x.q.shape[2] - 1)
        q, o = (_take(t, rows) for t in (x.q, x.o))
        do = _take(x.do, stays if "dO stays" in x.faults else rows)
        if "Q stays" in x.faults:
            q = _take(x.q, stays)
        lse = _lse_of(x, rows, math.inf)
        if "LSE filled with -inf" in x.faults:
            lse = _take(x.lse, rows, -math.inf)
        p, ds = _tile(x, q, k, v, o, do, lse, rows, columns)
        p, ds = x.rounded(p), _narrow(x, ds)
        if x.faults & {"P not transposed", "dS not transposed", "dS meets K"}:
            _square(rows, columns)
        source = o if "dV from O" in x.faults else do
        weights = ds if "dV from dS" in x.faults else p
        dv = _sum(x, dv, (weights if "P not transposed" in x.faults else weights.mT) @ source)
        source = k if "dS meets K" in x.faults else do if "dS meets dO" in x.faults else q
        dk = _sum(x, dk, (ds if "dS not transposed" in x.faults else ds.mT) @ source)
    return dk, dv


def _queries(x: Scan, first: int, tile: tuple[int, int]) -> tuple[int, int]:
    """Where the loop over queries begins and ends, for the block of keys that begins at `first`."""
    S_q, S_k = x.q.shape[2], x.k.shape[2]
    begin, end = 0, S_q
    if x.causal and "no causal mask" not in x.faults:
        seen_from = first - (0 if "top-left" in x.faults else x.offset) - ("one key too many" in x.faults)
        begin = max(0, seen_from) // tile[0] * tile[0]
    if x.faults & {"offset turned round", "no early end"}:
        begin = 0
    if "starts one block late" in x.faults:
        begin += tile[0]
    if "start rounded up" in x.faults:
        begin = -(-max(0, first - x.offset) // tile[0]) * tile[0]
    if "starts at the top-left diagonal" in x.faults:
        begin = first
    if "first tile skipped" in x.faults:
        begin = tile[0]
    if "ends at S_k" in x.faults:
        end = S_k
    if "whole blocks only" in x.faults:
        end = S_q // tile[0] * tile[0]
    return begin, end
