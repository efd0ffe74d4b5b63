"""Softmax, its VJP and log-sum-exp over rows in torch, with faults by name: lessons 02 and 04.

    >>> softmax(s, faults=frozenset({"powers of two", "zeros in whole rows"}))
    >>> logsumexp(x, faults=frozenset({"l not rescaled"}), tile=(1, 16))      # without a fault: right

`tile` is (rows, columns): its second number is how many columns a step of the loop takes. Several faults can
be made at once. Some show only where numbers overflow or vanish: these are computed in fp32.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import pad

from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled
from flashlearn.lessons.shared.faulty_formulas.sums import PARTS, visited_range

IN_FP32 = frozenset(
    {"no maximum", "sum without the maximum", "zeros in the maximum", "last tile's maximum", "m from 0"}
    | {"first block's maximum", "block's own maximum"}
    | {"one maximum for all rows"}
    | {"maximum above −10^4", "padding of −10^4", "m from −10^4"}
)
FILLERS = {f"filler −10^{power}": -(10.0**power) for power in (4, 6, 9, 30)}
"""What some kernels load where −inf belongs."""
TILED = (
    PARTS
    | FILLERS.keys()
    | frozenset(
        {
            "zeros in the maximum",
            "zeros in the sum",
            "zeros for padding",
            "last tile's maximum",
            "lanes apart",
        }
        | {"sum so far", "inner so far"}
        | {
            "l not rescaled",
            "new sum rescaled too",
            "first block's maximum",
            "block's own maximum",
            "no guard",
        }
    )
)
"""The faults whose results depend on the tile."""


@tiled(TILED, one_side=True)
def softmax(s: Tensor, faults: Faults = NONE, tile: Tile = (32, 32)) -> Tensor:
    """p[i, :] = softmax(s[i, :]), in fp64 if s is and the faults allow it."""
    if "over columns" in faults:
        return softmax(s.t(), faults - {"over columns"}, tile).t()
    x = _wide(s, faults)
    whole = "zeros in whole rows" in faults
    block = _power_of_two(x.shape[1]) if whole else tile[1]
    m = _maximum(x, block, faults)
    base = math.log(2) if "powers of two" in faults else 1.0
    e = (base * (x - m)).exp()
    l_i = _sum_of_exponentials(x, m, base, block, faults)
    if "logarithm" in faults:
        p = x - m - l_i.log()
    elif "m + l" in faults:
        p = (x - (m + l_i)).exp()
    else:
        p = e if "not divided" in faults else e / (x.shape[1] if "divided by N" in faults else l_i)
    return p.to(s.dtype)


def _maximum(x: Tensor, block: int, faults: Faults) -> Tensor:
    """What is subtracted from each row, [rows, 1]."""
    if "no maximum" in faults:
        return torch.zeros_like(x[:, :1])
    if "last tile's maximum" in faults:
        x = x[:, visited_range(x.shape[1], block, frozenset({"last tile only"}))]
    m = x.amax(dim=1, keepdim=True)
    if "one maximum for all rows" in faults:
        m = m.amax().expand_as(m)
    if faults & {"maximum above −10^4", "padding of −10^4"}:
        m = m.clamp(min=-1e4)
    padded = -x.shape[1] % block and faults & {"zeros in the maximum", "zeros in whole rows"}
    return m.clamp(min=0.0) if padded else m


def _sum_of_exponentials(x: Tensor, m: Tensor, base: float, block: int, faults: Faults) -> Tensor:
    """What each row is divided by, [rows, 1], or each element, [rows, columns]."""
    if "l not rescaled" in faults:
        tops = x.split(block, dim=1)
        running = torch.stack([t.amax(dim=1) for t in tops]).cummax(dim=0).values.unsqueeze(2)
        running = torch.where(running == -math.inf, 0.0, running)
        return sum((base * (t - r)).exp().sum(1, keepdim=True) for t, r in zip(tops, running, strict=True))
    if "sum so far" in faults:
        sums = torch.stack([(base * (t - m)).exp().sum(1) for t in x.split(block, dim=1)], dim=1).cumsum(1)
        return sums.repeat_interleave(block, dim=1)[:, : x.shape[1]]
    inside = x[:, visited_range(x.shape[1], block, faults)]
    shift = torch.zeros_like(m) if "sum without the maximum" in faults else m
    l_i = (base * (inside - shift)).exp().sum(dim=1, keepdim=True)
    if faults & {"zeros in the sum", "zeros in whole rows"}:
        l_i = l_i + (-x.shape[1] % block) * (-base * shift).exp()
    if "padding of −10^4" in faults:
        l_i = l_i + (_power_of_two(x.shape[1]) - x.shape[1]) * (base * (-1e4 - shift)).exp()
    return l_i


@tiled(TILED, one_side=True)
def softmax_vjp(p: Tensor, dp: Tensor, faults: Faults = NONE, tile: Tile = (32, 32)) -> Tensor:
    """ds = p ∘ (dp − ⟨p, dp⟩), row by row."""
    N = p.shape[1]
    products = dp if "inner of dp alone" in faults else p * dp
    if "only the diagonal" in faults:
        inner = products
    else:
        inner = products[:, visited_range(N, tile[1], faults)].sum(dim=1, keepdim=True)
    if "inner so far" in faults:
        ends = (torch.arange(N) // tile[1] * tile[1] + tile[1] - 1).clamp(max=N - 1)
        inner = products.cumsum(dim=1)[:, ends]
    padded = _power_of_two(N) if faults & {"padding of −inf", "−inf up to 16 too"} else 0
    padded = max(padded, 16) if "−inf up to 16 too" in faults else padded
    if padded > N:
        inner = inner + math.inf
    if "divided by N" in faults:
        inner = inner / N
    if "divided by the sum of p" in faults:
        inner = inner / p.sum(dim=1, keepdim=True)
    if "no inner product" in faults:
        inner = torch.zeros_like(inner)
    if "p subtracted" in faults:
        return p * dp - p
    if "p on dp alone" in faults:
        return p * dp - inner
    bracket = dp + inner if "plus" in faults else inner - dp if "sign" in faults else dp - inner
    return bracket if "no p in front" in faults else p * bracket


@tiled(TILED, one_side=True)
def logsumexp(x: Tensor, faults: Faults = NONE, tile: Tile = (32, 32)) -> Tensor:
    """lse[i] = log Σ_j exp(x[i, j]) as a kernel's loop over blocks carries it."""
    wide, block = _wide(x, faults), tile[1]
    inside = wide[:, visited_range(x.shape[1], block, faults)]
    if not inside.shape[1]:
        inside = torch.full_like(wide[:, :1], -math.inf)
    filler = next((v for name, v in FILLERS.items() if name in faults), -math.inf)
    filler = 0.0 if "zeros for padding" in faults else filler
    inside = pad(inside, (0, -inside.shape[1] % block), value=filler)
    m, l_i = _lanes(inside, block) if "lanes apart" in faults else _scanned(inside, block, faults)
    log = l_i.log2() if "base 2" in faults else l_i if "no logarithm" in faults else l_i.log()
    lse = log if "m not added" in faults else m + log
    return lse.to(x.dtype if x.dtype == torch.float64 else torch.float32)


def _scanned(x: Tensor, block: int, faults: Faults) -> tuple[Tensor, Tensor]:
    """The state (m, l) of a row after its last block."""
    begins = 0.0 if faults & {"no maximum", "m from 0"} else -math.inf
    begins = -1e4 if "m from −10^4" in faults else begins
    m_i = torch.full_like(x[:, 0], begins)
    l_i = torch.zeros_like(m_i)
    for number, tile in enumerate(x.split(block, dim=1)):
        m_new = torch.maximum(m_i, tile.amax(dim=1))
        if "block's own maximum" in faults:
            m_new = tile.amax(dim=1)
        if "one maximum for all rows" in faults:
            m_new = m_new.amax().expand_as(m_new)
        if "no maximum" in faults or ("first block's maximum" in faults and number):
            m_new = m_i
        shift = m_new if "no guard" in faults else torch.where(m_new == -math.inf, 0.0, m_new)
        rescale = torch.ones_like(m_i) if "l not rescaled" in faults else (m_i - shift).exp()
        new = (tile - shift.unsqueeze(1)).exp().sum(dim=1)
        l_i = l_i * rescale + (new * rescale if "new sum rescaled too" in faults else new)
        m_i = m_new
    return m_i, l_i


def _lanes(x: Tensor, block: int) -> tuple[Tensor, Tensor]:
    """A maximum and a sum for each lane, the sums added without a common unit."""
    lanes = x.unflatten(1, (-1, block))
    tops = lanes.amax(dim=1)
    shift = torch.where(tops == -math.inf, 0.0, tops)
    return tops.amax(dim=1), (lanes - shift.unsqueeze(1)).exp().sum(dim=(1, 2))


def _wide(x: Tensor, faults: Faults) -> Tensor:
    return x.float() if x.dtype != torch.float64 or faults & IN_FP32 else x


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()
