"""One tile of the backward kernels in torch, with faults by name: P, dS, and what becomes of their sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from flashlearn.lessons.shared.faulty_formulas.faults import Faults

OUT_OF_RANGE = 1 << 40
"""A key beyond every tile."""
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
        "ends at the last key",
        "ends at the top-left diagonal",
        "whole blocks only",
        "ends at S_q",
        "ends at S_k",
        "first tile skipped",
        "starts one block late",
        "starts at the top-left diagonal",
        "starts at the own block",
        "start rounded up",
        "top-left",
        "top-left mask",
        "one key too many",
        "offset negated",
        "bound negated",
        "no early end",
        "clamped rows",
        "LSE filled with -inf",
        "LSE filled with 0",
        "padded keys",
        "accumulator in half",
        "hidden scores are 0",
        "hidden pairs weigh 1",
        "K stays",
        "V stays",
        "Q stays",
        "dO stays",
        "no guard",
        "softmax of the tile",
        "delta after P",  # of hidden pairs, too, where a tile with them is visited
        "P forgotten in dS",
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
    faults: Faults
    narrow: torch.dtype

    @property
    def offset(self) -> int:
        """S_k − S_q: query i sees keys up to i + offset."""
        return self.k.shape[2] - self.q.shape[2]

    def last_seen(self, rows: Tensor) -> Tensor:
        """The last key that each query may attend to, with the faults of the mask."""
        if not self.causal or "no causal mask" in self.faults:
            return torch.full_like(rows, OUT_OF_RANGE)
        shift = 0 if self.faults & {"top-left", "top-left mask"} else self.offset
        if "offset negated" in self.faults:
            shift = -self.offset
        shift += ("one key too many" in self.faults) - ("diagonal hidden" in self.faults)
        return rows + shift

    def rounded(self, x: Tensor) -> Tensor:
        """x as it enters a product: in the inputs' dtype."""
        return x.to(self.narrow).to(x.dtype)


def scan_of(q, k, v, o, do, lse, alpha, causal, faults) -> Scan:
    wide = torch.float64 if q.dtype == torch.float64 else torch.float32
    return Scan(*(t.to(wide) for t in (q, k, v, o, do, lse)), alpha, causal, faults, q.dtype)


def load_rows(t: Tensor, at: At, filler: float = 0.0) -> Tensor:
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


def positions(at: At) -> Tensor:
    """A tile's row or column numbers as a tensor."""
    return torch.arange(at.start, at.stop) if isinstance(at, range) else at


def require_square_tile(rows: At, columns: At) -> None:
    if len(rows) != len(columns):
        raise ValueError("this fault needs square tiles")


def lse_of(x: Scan, index: At, filler: float) -> Tensor:
    """LSE of a tile's queries; where it is −inf, nothing is to be seen, and +inf makes P 0."""
    lse = load_rows(x.lse, index, filler)
    if "LSE of 0" in x.faults:
        lse = torch.where(lse == 0.0, math.inf, lse)
    if "no guard" in x.faults:
        return lse
    return torch.where(lse == -math.inf, 0.0 if "guarded by 0" in x.faults else math.inf, lse)


def _probabilities(x: Scan, q: Tensor, k: Tensor, lse: Tensor, rows: At, columns: At) -> Tensor:
    """P of one tile, [B, H, rows, columns]."""
    alpha = 1.0 if "alpha not in s" in x.faults else x.alpha
    alpha = abs(alpha) if "alpha without its sign in s" in x.faults else alpha
    s = (alpha * x.alpha if "alpha twice in s" in x.faults else alpha) * (q @ k.mT)
    keys = positions(columns)
    seen = keys <= x.last_seen(positions(rows))[:, None]
    if "padded keys" not in x.faults:
        seen = seen & (keys < x.k.shape[2])
    s = torch.where(seen, s, 0.0 if "hidden scores are 0" in x.faults else -math.inf)
    if "softmax of the tile" in x.faults:
        return s.softmax(-1).nan_to_num(0.0)  # a row that sees nothing of it has no weights
    if "LSE along the keys" in x.faults:
        require_square_tile(rows, columns)
    lse = lse[..., None, :] if "LSE along the keys" in x.faults else lse[..., :, None]
    if "LSE in base 2" in x.faults:
        lse = lse * math.log(2)
    if "LSE added" in x.faults:
        lse = torch.where(lse == math.inf, lse, -lse)
    if "LSE forgotten" in x.faults:
        lse = torch.where(lse == math.inf, lse, 0.0)
    if "log2 e not in s" in x.faults:
        s = s * math.log(2)
    base = math.log(2) if "exp2 of natural numbers" in x.faults else 1.0
    p = (base * (s - lse)).exp()
    return torch.where(seen, p, 1.0) if "hidden pairs weigh 1" in x.faults else p


def p_and_ds(x: Scan, q, k, v, o, do, lse, rows: At, columns: At) -> tuple[Tensor, Tensor]:
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
        delta = load_rows((x.o * x.do).sum(-1), range(len(rows)))
    if "delta times l" in x.faults:
        delta = delta * _sums(x, rows)
    if "delta of the first head" in x.faults:
        delta = (x.o * x.do).sum(-1)[:1, :1]
        delta = load_rows(delta, rows).expand(x.o.shape[0], x.o.shape[1], -1)
    if "delta is the sum of dP" in x.faults:
        delta = (do @ x.v.sum(2, keepdim=True).mT).squeeze(-1)
    if "delta of one tile" in x.faults:
        delta = (p * dp).sum(-1)
    if "delta omitted" in x.faults:
        delta = torch.zeros_like(delta)
    if "delta added" in x.faults:
        delta = -delta
    if "delta along the keys" in x.faults:
        require_square_tile(rows, columns)
    delta = delta[..., None, :] if "delta along the keys" in x.faults else delta[..., :, None]
    if "delta after P" in x.faults:
        return p, p * dp - delta
    return p, (dp - delta if "P forgotten in dS" in x.faults else p * (dp - delta))


def _sums(x: Scan, rows: At) -> Tensor:
    """l of each query, relative to the maximum of its visible scores; 0 where it sees nothing."""
    index = positions(rows).clamp(max=x.q.shape[2] - 1)
    s = x.alpha * x.q[:, :, index] @ x.k.mT
    s = s.masked_fill(torch.arange(x.k.shape[2]) > x.last_seen(index)[:, None], -math.inf)
    return (x.lse[:, :, index] - s.amax(-1)).exp().nan_to_num(0.0)


def rounded_ds(x: Scan, ds: Tensor) -> Tensor:
    """dS as it enters a product."""
    return ds.to(torch.float16).to(ds.dtype) if "dS in fp16" in x.faults else x.rounded(ds)


def add_step(x: Scan, total: Tensor, step: Tensor) -> Tensor:
    """The accumulator after one more tile."""
    if "last tile alone" in x.faults:
        return step
    if "accumulator in half" in x.faults:
        return x.rounded(total + x.rounded(step))
    return total + step
