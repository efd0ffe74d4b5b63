"""Hidden pairs that have weight: where they are, and what these weights are."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.explaining.findings.weight_leaks import (
    BlindQueries,
    DiagonalTilesUnmasked,
    FutureHasWeight,
    PTransposed,
)
from flashlearn.explaining.leaking_tiles import WHOLE, leaking_tiles, tells
from flashlearn.explaining.read_weights import MIN_WEIGHT, Weights
from flashlearn.outcome import Finding, Outcome


def find_transposed(w: Weights, outcome: Outcome) -> Finding | None:
    """P transposed, tile by tile: every tile has the numbers of the other orientation."""
    for size in (s for s in w.sizes if s <= 2 * min(w.got.shape)):
        source, real = _tilewise_transposed(w.right, size)
        close = (w.got - source).abs() <= 20 * w.noise + MIN_WEIGHT
        far = (w.right - source).abs() > 20 * w.noise + 10 * MIN_WEIGHT
        if bool(close[real].all()) and int((far & real).sum()) >= 8 and bool(real.any()):
            i, j = (int(x) for x in (far & real).nonzero()[0])
            other = (i // size * size + j % size, j // size * size + i % size)
            return Finding(PTransposed(outcome.case.name, (i, j), other))
    return None


def _tilewise_transposed(p: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Each square tile of P transposed in its place, and where that has numbers of P."""
    rows, columns = (-(-n // size) * size for n in p.shape)
    whole = p.new_full((rows, columns), torch.nan)
    whole[: p.shape[0], : p.shape[1]] = p
    tiles = whole.reshape(rows // size, size, columns // size, size)
    turned = tiles.transpose(1, 3).reshape(rows, columns)[: p.shape[0], : p.shape[1]]
    return turned.nan_to_num(0.0), ~turned.isnan()


def find_leak(w: Weights, outcome: Outcome) -> Finding | None:
    """Weight where there must be none: the future, or the diagonal's own tiles."""
    leaking = w.leaking
    if not bool(leaking.any()):
        return None
    i, j = (int(x) for x in leaking.nonzero()[0])
    blind, case = ~w.visible.any(1), outcome.case.name
    if not bool(leaking[~blind].any()):
        count, keys = int(leaking.any(1).sum()), (j, int(leaking[i].nonzero()[-1]))
        others = bool(((w.got - w.right)[~blind].abs() <= 20 * w.noise + MIN_WEIGHT).all())
        return Finding(BlindQueries(case, count, len(blind), i, keys, others))
    last = int(w.visible[i].nonzero()[-1]) if bool(w.visible[i].any()) else None
    found = leaking_tiles(w.visible, leaking, w.sizes, square=not w.blocks)
    masked = bool(found) and all(tiles.masked for tiles in found)
    crossed = [tiles for tiles in found if tiles.crossed and tells(w.visible, tiles.size)]
    if crossed and (masked or not any(tiles.masked for tiles in crossed)):
        block = crossed[0].size if len(crossed) == 1 and w.blocks else None
        return Finding(DiagonalTilesUnmasked(case, (i, j), last, block, masked))
    count = int(leaking.sum())
    everywhere = count >= WHOLE * int((~w.visible).sum())
    like = _like(w, leaking)
    return Finding(FutureHasWeight(case, (i, j), last, count, everywhere, masked, like, _too_many(w, like)))


def _like(w: Weights, leaking: Tensor) -> str:
    """Whose weights the leaking pairs have: "bare" scores', "zero" scores', those of an exponent "0"."""
    if w.bare is None:
        return ""
    rows = w.visible.any(1)
    hidden = leaking & rows[:, None]
    if int(hidden.sum()) < 3:
        return ""
    got, lse = _as_exponentials(w)
    alike = {
        "bare": (w.bare - lse[:, None]).exp(),
        "zero": (-lse[:, None]).exp().expand_as(got),
        "0": torch.ones_like(got) if w.recomputed else torch.full_like(got, torch.nan),
    }
    fits = [name for name, wanted in alike.items() if _same(got[hidden], wanted[hidden], w.noise)]
    return fits[0] if len(fits) == 1 else ""


def _as_exponentials(w: Weights) -> tuple[Tensor, Tensor]:
    """The learner's exp(S − LSE) before a row was divided by another sum, and the right LSE."""
    telling = w.visible & (w.right > 50 * w.noise + 10 * MIN_WEIGHT)
    logs = torch.where(telling, w.bare - w.right.clamp(min=1e-30).log(), torch.nan)
    ratios = torch.where(telling, w.got / w.right.clamp(min=1e-30), torch.nan)
    scale = torch.ones(len(w.got), dtype=w.got.dtype) if w.recomputed else ratios.nanmedian(1).values
    return w.got / scale[:, None], logs.nanmedian(1).values


def _same(got: Tensor, wanted: Tensor, noise: float) -> bool:
    return bool(((got - wanted).abs() <= 0.01 * wanted.abs() + 50 * noise + MIN_WEIGHT).all())


def _too_many(w: Weights, like: str) -> int:
    """By how many keys each query sees too far, if every query does by the same number; else 0."""
    if like != "bare":
        return 0
    rows, keys = w.got.shape
    ahead = torch.arange(keys)[None, :] - torch.arange(rows)[:, None] - (keys - rows)
    _, lse = _as_exponentials(w)
    large = ((w.bare - lse[:, None]).exp() > 50 * w.noise + 10 * MIN_WEIGHT) & ~w.visible
    far = int(ahead[w.leaking].max())
    seen = ahead <= far
    exact = bool((w.leaking[large] == seen[large]).all()) and bool((large & ~seen).any())
    return far if exact and bool((~w.visible == (ahead > 0)).all()) else 0
