"""The forward kernel's blocks and tiles in torch, with faults by name: what lesson 06's mistakes compute.

    >>> o, lse = scan(q, k, v, alpha, faults=frozenset({"acc not rescaled"}))
    >>> o, lse = scan(q, k, v, alpha, causal=True, tile=(64, 16))      # no fault: right

Several faults can be made at once. `tile` is (queries, keys). Sums are carried in fp32, or in fp64 for fp64
inputs; P is rounded to v's dtype before it meets V, as in the kernels.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, tiled

FILLERS = {"finite filler": -1e9, "filler −10³⁰": -1e30, "filler −10⁶": -1e6, "filler −10⁴": -1e4}
"""What some kernels write where −inf belongs."""
TILED = frozenset(
    {
        "one key too many in the mask",
        "diagonal tile skipped",
        "tile after the whole ones skipped",
        "whole tiles unmasked",
        "whole tiles by the last query",
        "loop one tile short",
        "top-left",
        "top-left mask",
        "only whole tiles",
        "loop end without the offset",
        "starts at the own block",
        "first tile skipped",
        "acc not rescaled",
        "l not rescaled",
        "nothing rescaled",
        "softmax per tile",
        "m never updated",
        "maximum of the tile alone",
        "rescale inverted",
        "mask after l",
        "padded keys",
        "one padded key",
        "hidden scores are 0",
        "V stays",
        "K stays",
        "acc rescaled twice",
        "product rescaled too",
        "new sum rescaled too",
        "acc not rescaled in the last step",
        "ends at the last key",
        "divided in every step",
        "finite filler",
        "filler −10³⁰",
        "filler −10⁶",
        "filler −10⁴",
        "no early end",
        "one key too many",
        "offset negated",
        "end negated",
        "no guards",
        "end of the first query",
        "one maximum for all rows",
        "padded queries",
        "mask by the place in the block",
    }
)
"""Faults whose result depends on the shape of the tiles."""


@tiled(TILED)
def scan(
    q: Tensor, k: Tensor, v: Tensor, alpha: float, causal: bool = False, faults: Faults = NONE,
    tile: Tile = (32, 32),
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(O [B, H, S_q, D] in q's dtype, LSE [B, H, S_q]), a block of queries after the other."""
    S_q, S_k = q.shape[2], k.shape[2]
    if "first head" in faults:
        k, v = (t[:1, :1].expand_as(t) for t in (k, v))
    alpha = abs(alpha) if "alpha without its sign" in faults else alpha
    alpha = 1.0 if "alpha forgotten" in faults else alpha**2 if "alpha twice" in faults else alpha
    blocks = []
    for first in range(0, S_q, tile[0]):
        rows = torch.arange(first, min(first + tile[0], S_q))
        end, last_seen = _bounds(first, rows, S_q, S_k, causal, faults, tile)
        sees = max(0, min(S_k, first + 1 + S_k - S_q)) if causal else S_k
        begin = first if "starts at the own block" in faults else 0
        begin = tile[1] if "first tile skipped" in faults else begin
        bounds = (begin, sees // tile[1] * tile[1], end)  # whole tiles for the block's first query, and all
        some = faults if len(rows) < tile[0] else faults - {"padded queries"}
        blocks.append(_block(q[:, :, rows], k, v, alpha, bounds, last_seen, causal, some, tile[1]))
    o, lse = (torch.cat(parts, dim=2) for parts in zip(*blocks, strict=True))
    return o.to(q.dtype), lse


def _bounds(
    first: int, rows: Tensor, S_q: int, S_k: int, causal: bool, faults: Faults, tile: Tile
) -> tuple[int, Tensor]:
    """Where the loop of a block ends, and the last key that each of its queries sees."""
    if not causal or "no causal mask" in faults:
        end = S_k // tile[1] * tile[1] if "loop one tile short" in faults else S_k
        end = min(S_k, S_q) if "ends at S_q" in faults else end
        return end, torch.full_like(rows, S_k)
    offset = 0 if "top-left" in faults else S_k - S_q
    shift = 0 if "top-left mask" in faults else S_q - S_k if "offset negated" in faults else offset
    shift += ("one key too many" in faults) - ("diagonal hidden" in faults)
    shift += "one key too many in the mask" in faults
    last_seen = rows + shift - (first if "mask by the place in the block" in faults else 0)
    if "only whole tiles" in faults:
        last_seen = torch.full_like(rows, S_k)
    end = first + tile[0] + offset + ("one key too many" in faults)
    if "loop one tile short" in faults:
        end = first + offset
    if "end of the first query" in faults:
        end = first + offset + 1
    if faults & {"offset negated", "no early end"}:
        end = S_k
    if "end negated" in faults:
        end = first + tile[0] - offset
    if "loop end without the offset" in faults:
        end = first + tile[0]
    end -= "ends at the last key" in faults
    return min(S_k - ("even at S_k" in faults), S_q if "ends at S_q" in faults else S_k, end), last_seen


def _block(q, k, v, alpha, bounds, last_seen, causal, faults, size) -> tuple[Tensor, Tensor]:
    """One program: its O [B, H, rows, D] and LSE [B, H, rows] in fp64 or fp32."""
    S_k, wide = k.shape[2], torch.float64 if q.dtype == torch.float64 else torch.float32
    shape = (*q.shape[:3], 1)
    m = torch.full(shape, _first_maximum(faults), dtype=wide)
    l_i = torch.zeros(shape, dtype=wide)
    acc = torch.zeros((*q.shape[:3], v.shape[3]), dtype=wide)
    guarded = causal and not faults & {"no guards", *FILLERS}
    begin, whole, end = bounds
    for start in range(begin, end, size):
        if "tile after the whole ones skipped" in faults and start == whole:
            continue
        if "diagonal tile skipped" in faults and start <= int(last_seen.min()) < start + size:
            continue
        at_k = 0 if "K stays" in faults else start
        at_v = 0 if "V stays" in faults else start
        k_tile = _pad_rows(k[:, :, at_k : at_k + size], size).to(wide)
        v_tile = _pad_rows(v[:, :, at_v : at_v + size], size).to(wide)
        columns = torch.arange(start, start + size)
        keys = S_k + ("one padded key" in faults)
        seen = (columns < keys) & (columns <= last_seen[:, None])
        if "padded keys" in faults:  # a causal mask, where there is one, hides them too
            unmasked = "mask after l" in faults or bool((last_seen == S_k).all())
            seen = torch.ones_like(seen) if unmasked else columns <= last_seen[:, None]
        by_the_last = "whole tiles by the last query" in faults and start < end // size * size
        if by_the_last or ("whole tiles unmasked" in faults and start < whole):
            seen = torch.ones_like(seen)
        raw = q.to(wide) @ k_tile.mT
        s = _masked(alpha, raw, seen, columns < keys, faults)
        top = s.amax(dim=-1, keepdim=True)
        if "maximum before alpha" in faults:
            top = alpha * raw.masked_fill(~seen, -math.inf).amax(dim=-1, keepdim=True)
        if "maximum without alpha" in faults:
            top = raw.masked_fill(~seen, -math.inf).amax(dim=-1, keepdim=True)
        if "one maximum for all rows" in faults:
            top = top.amax(dim=-2, keepdim=True).expand_as(top)
        if "padded queries" in faults:  # rows of zeros, whose scores are 0
            top = top.clamp(min=0.0)
        m_new = m if "no maximum" in faults else torch.maximum(m, top)
        if "maximum of the tile alone" in faults:
            m_new = top
        shift = torch.where(m_new == -math.inf, 0.0, m_new) if guarded else m_new
        rescale, p = _exponentials(m - shift, s - shift, faults)
        l_i = l_i * (1.0 if faults & {"l not rescaled", "nothing rescaled"} else rescale)
        l_i = l_i + p.sum(-1, keepdim=True) * (rescale if "new sum rescaled too" in faults else 1.0)
        if "mask after l" in faults:
            p = p * ((columns < keys) & (columns <= last_seen[:, None]))
        if "softmax per tile" in faults:
            p, rescale = p / p.sum(dim=-1, keepdim=True), torch.ones_like(rescale)
        kept = "acc not rescaled in the last step" in faults and start + size >= end
        acc = acc * (1.0 if kept or faults & {"acc not rescaled", "nothing rescaled"} else rescale)
        acc = acc * (rescale if "acc rescaled twice" in faults else 1.0)
        product = p.to(v.dtype).to(wide) @ v_tile
        acc = acc + product * (rescale if "product rescaled too" in faults else 1.0)
        if "divided in every step" in faults:
            acc = acc / l_i
        m = m if "m never updated" in faults else m_new
    return _finished(m, l_i, acc, guarded or "division guarded" in faults, faults)


def _first_maximum(faults: Faults) -> float:
    if faults & {"no maximum", "m from 0"}:
        return 0.0
    return -1e4 if "m from −10⁴" in faults else -math.inf


def _exponentials(older: Tensor, newer: Tensor, faults: Faults) -> tuple[Tensor, Tensor]:
    """The factor of what was summed so far, and P of the tile."""
    base = math.log(2) if "exp2 of natural numbers" in faults else 1.0
    rescale = (base * older).exp()
    if "rescale inverted" in faults:
        rescale = (-base * older).exp()
    return rescale, (base * newer).exp()


def _masked(alpha: float, raw: Tensor, seen: Tensor, in_keys: Tensor, faults: Faults) -> Tensor:
    """The tile's scores after scale and mask."""
    if "padded keys" in faults:
        return (alpha * raw).masked_fill(~seen, -math.inf)
    if "mask after l" in faults:
        return (alpha * raw).masked_fill(~in_keys, -math.inf)
    if "mask before alpha" in faults:
        return raw.masked_fill(~seen, -math.inf) * alpha
    if "hidden scores are 0" in faults:
        return (alpha * raw).masked_fill(~seen, 0.0)
    filler = next((value for name, value in FILLERS.items() if name in faults), -math.inf)
    return (alpha * raw).masked_fill(~seen, filler)


def _finished(m: Tensor, l_i: Tensor, acc: Tensor, guarded: bool, faults: Faults) -> tuple[Tensor, Tensor]:
    """O and LSE from the state after the last tile."""
    if "sum guarded" in faults:
        l_i = torch.where(l_i == 0, 1.0, l_i)
    divisor = torch.where(l_i == 0, 1.0, l_i) if guarded else l_i
    o = acc / divisor
    if faults & {"not divided", "softmax per tile", "divided in every step"}:
        o = acc
    if "divided twice" in faults:
        o = o / divisor
    lse = m + l_i.log()
    if "lse is log l" in faults:
        lse = l_i.log()
    if "lse is m" in faults:
        lse = m
    if "lse is m + l" in faults:
        lse = m + l_i
    if "lse is m − log l" in faults:
        lse = m - l_i.log()
    if "lse is l" in faults:
        lse = l_i
    if "lse in base 2" in faults:
        lse = lse / math.log(2)
    if "lse mixes bases" in faults:
        lse = m + l_i.log() / math.log(2)
    if "lse mixes bases in m" in faults:
        lse = m / math.log(2) + l_i.log()
    if "lse of the base-2 sum" in faults:
        lse = math.log(2) * m + l_i.log()
    if "lse of empty rows is 0" in faults:
        lse = torch.where(l_i == 0, 0.0, lse)
    return o, lse.squeeze(-1)


def _pad_rows(t: Tensor, size: int) -> Tensor:
    """A tile's rows filled up to `size` with zeros, as a masked load with other=0 does."""
    missing = size - t.shape[2]
    return torch.nn.functional.pad(t, (0, 0, 0, missing)) if missing else t
