"""What wrong weights P show: a pair that gets weight and must not, one that gets none and must.

Each look takes the weights of one head of one case and gives a finding, or None.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from flashlearn.explaining.findings.missing_weights import (
    DiagonalKeysMissing,
    FirstKeysMissing,
    FirstQueriesMissing,
    LastKeysMissing,
    LastQueriesMissing,
)
from flashlearn.explaining.findings.weight_factors import (
    ExponentTimesNumber,
    NotRescaled,
    PToAPower,
    RowsOfPFactor,
    ScoresTimesNumber,
    TilesCountedTwice,
)
from flashlearn.explaining.findings.weight_leaks import BlindQueries, DiagonalTilesUnmasked, FutureHasWeight
from flashlearn.explaining.leaking_tiles import WHOLE, leaking_tiles, tells
from flashlearn.outcome import Finding, Outcome

MIN_WEIGHT = 1e-4
"""Smaller weights prove nothing in half precision."""

USUAL_TILES = (16, 32, 64, 128)


@dataclass(frozen=True)
class Weights:
    """One head of one case: the learner's P, the right P and S, which pairs are visible, and the noise.

    `recomputed` where P comes from a given LSE, as in a backward kernel. `scans` is what a program scans,
    "keys" or "queries"; `blocks` are the sizes of the learner's tiles, as far as they are known.
    """

    got: Tensor
    right: Tensor
    scores: Tensor
    visible: Tensor
    noise: float
    recomputed: bool = False
    scans: str = "keys"
    blocks: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes that tiles have, or may have where nothing is known."""
        return self.blocks or USUAL_TILES

    def tile_at(self, index: int) -> bool:
        """True if one of the learner's tiles may begin here."""
        return any(index % size == 0 for size in self.sizes)

    @property
    def missing(self) -> Tensor:
        """Visible pairs that should have weight, and have none."""
        return self.visible & (self.right > 20 * self.noise + MIN_WEIGHT) & (self.got.abs() < self.noise)

    @property
    def leaking(self) -> Tensor:
        """Hidden pairs that have weight."""
        return ~self.visible & (self.got.abs() > 20 * self.noise + MIN_WEIGHT)


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
    return Finding(FutureHasWeight(case, (i, j), last, count, everywhere, masked))


def find_missing(w: Weights, outcome: Outcome) -> Finding | None:
    """No weight where there must be some: a tile that the loop leaves out."""
    missing = w.missing
    if not bool(missing.any()):
        return None
    telling = w.visible & (w.right > 20 * w.noise + MIN_WEIGHT)
    if bool((missing == telling).all()):
        return None  # nothing gets weight here: another case shows more
    columns = missing.any(0)
    i, j = (int(x) for x in missing.nonzero()[0])
    case = outcome.case.name
    whole = bool((missing == (telling & columns[None, :])).all())
    first, last = int(columns.nonzero()[0]), int(columns.nonzero()[-1])
    informative = telling.any(0).nonzero().flatten()
    how = (case, w.scans == "keys", _counted(outcome))
    if whole and first > 0 and w.tile_at(first) and bool(columns[informative][informative >= first].all()):
        return Finding(LastKeysMissing(first, *how))
    if whole and w.tile_at(last + 1) and bool(columns[informative][informative <= last].all()):
        return Finding(FirstKeysMissing(last, *how))
    rows = missing.any(1)
    if bool((missing == (telling & rows[:, None])).all()):
        return _missing_rows(w, telling, rows, case)
    if not bool(w.visible.all()) and _only_last_keys(w, missing, telling):
        return Finding(DiagonalKeysMissing((i, j), case))
    return None


def _counted(outcome: Outcome) -> bool:
    """True where LSE is right: then every key was read, and counted in it."""
    return any(check.name == "lse" and check.ok for check in outcome.outputs)


def _missing_rows(w: Weights, telling: Tensor, rows: Tensor, case: str) -> Finding | None:
    informative = telling.any(1).nonzero().flatten()
    first, last = int(rows.nonzero()[0]), int(rows.nonzero()[-1])
    if bool(rows[informative].all()):
        return None
    loop = w.scans == "queries"
    if w.tile_at(first) and bool(rows[informative][informative >= first].all()):
        return Finding(LastQueriesMissing(first, case, loop))
    if w.tile_at(last + 1) and bool(rows[informative][informative <= last].all()):
        return Finding(FirstQueriesMissing(last, case, loop))
    return None


def _only_last_keys(w: Weights, missing: Tensor, telling: Tensor) -> bool:
    """True if in every row only a tail of the visible keys is missing."""
    for row in range(len(missing)):
        keys = telling[row].nonzero().flatten()
        gone = missing[row][keys]
        if bool(gone.any()) and not bool(gone[int(gone.nonzero()[0]) :].all()):
            return False
    return True


def _ratios(w: Weights) -> tuple[Tensor, Tensor]:
    """log(got / right) where both are large enough to tell, and which pairs those are."""
    telling = w.visible & (w.right > 50 * w.noise + 10 * MIN_WEIGHT) & (w.got > 50 * w.noise)
    return torch.where(telling, w.got / w.right, 1.0).log(), telling


def find_row_factors(w: Weights, outcome: Outcome) -> Finding | None:
    """Right within each row, or within each tile of a row, up to a factor."""
    ratio, telling = _ratios(w)
    if int(telling.sum()) < 8 or bool((w.visible & (w.right > 0.1) & ~telling).any()):
        return None
    slack = 0.02 + 50 * w.noise
    if float(ratio[telling].abs().max()) < slack:
        return None
    spread = _spread(ratio, telling)
    if spread < slack:
        factors = torch.stack(
            [ratio[i][telling[i]].mean().exp() for i in range(len(ratio)) if telling[i].any()]
        )
        low, high = float(factors.min()), float(factors.max())
        if high - low < slack * high and abs(high - 1) > slack:
            return None  # one factor for everything: the constant's own rule says it better
        return Finding(RowsOfPFactor(outcome.case.name, (low, high), w.recomputed))
    return _tiles_of_rows(w, ratio, telling, slack, outcome)


def _spread(ratio: Tensor, telling: Tensor) -> float:
    spreads = [
        float(r[t].max() - r[t].min()) for r, t in zip(ratio, telling, strict=True) if int(t.sum()) > 1
    ]
    return max(spreads, default=0.0)


def _tiles_of_rows(
    w: Weights, ratio: Tensor, telling: Tensor, slack: float, outcome: Outcome
) -> Finding | None:
    """Right up to a factor per row and tile of keys: what was summed before was not rescaled."""
    S_k = ratio.shape[1]
    for size in sorted(w.sizes, reverse=True):
        if size >= S_k:
            continue
        parts = [(ratio[:, a : a + size], telling[:, a : a + size]) for a in range(0, S_k, size)]
        if max(_spread(*part) for part in parts) >= slack:
            continue
        case = outcome.case.name
        if _counted_twice(parts, slack):
            return Finding(TilesCountedTwice(size, case))
        grows = _grows_with_the_maximum(w, ratio, telling, size)
        return Finding(NotRescaled(size, case)) if grows else None
    return None


def _counted_twice(parts: list[tuple[Tensor, Tensor]], slack: float) -> bool:
    """True if the factors of a row's tiles are 1 to 2 (or 3) everywhere, and not all alike."""
    uneven = False
    for row in range(len(parts[0][0])):
        factors = [float(r[row][t[row]].mean()) for r, t in parts if bool(t[row].any())]
        steps = [math.exp(f - min(factors)) for f in factors]
        if any(abs(step - round(step)) > 4 * slack * step or step > 3.5 for step in steps):
            return False
        uneven = uneven or any(step > 1.5 for step in steps)
    return uneven


def _grows_with_the_maximum(w: Weights, ratio: Tensor, telling: Tensor, size: int) -> bool:
    """True if rows whose maximum lies in the first tile are right up to a factor, and others are not.

    From the tile of the maximum on one factor must hold: nothing is rescaled there any more.
    """
    moved = wrong = 0
    for i in range(len(ratio)):
        keys = telling[i].nonzero().flatten()
        if len(keys) < 2 or int(keys[0]) // size == int(keys[-1]) // size:
            continue
        top = int(w.scores[i].argmax()) // size
        slack = 0.02 + 50 * w.noise
        uneven, later = _range(ratio[i][keys]) > slack, keys[keys >= top * size]
        if uneven and (top == 0 or _range(ratio[i][later]) > slack):
            return False
        moved, wrong = moved + (top > 0), wrong + (uneven and top > 0)
    return moved > 0 and wrong >= 0.8 * moved


def _range(numbers: Tensor) -> float:
    return float(numbers.max() - numbers.min()) if numbers.numel() else 0.0


def find_scaled(w: Weights, outcome: Outcome) -> Finding | None:
    """Scores times a number: log P is a straight line in S with another slope than 1."""
    got = torch.where(w.got > 50 * w.noise, w.got, 1.0).log()
    telling = w.visible & (w.got > 50 * w.noise) & w.scores.isfinite()
    slopes = []
    for i in range(len(got)):
        x, y = w.scores[i][telling[i]], got[i][telling[i]]
        if len(x) < 6 or float(x.std()) < 0.1:
            continue
        slope = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
        if float((y - y.mean() - slope * (x - x.mean())).abs().max()) > 0.05 + 50 * w.noise:
            return None
        slopes.append(slope)
    if len(slopes) < 3 or max(slopes) - min(slopes) > 0.02 * max(map(abs, slopes)):
        return None
    slope = sum(slopes) / len(slopes)
    if abs(slope - 1) < 0.02:
        return None
    of = (outcome.case.name, slope, _meaning(slope, outcome))
    if _is_power(w, slope):
        return Finding(PToAPower(*of, w.recomputed))
    seen = w.visible.any(1)
    if bool(((w.got[seen].sum(1) - 1).abs() < 0.02 + 50 * w.noise).all()):
        wanted = (slope * w.scores[seen]).masked_fill(~w.visible[seen], -torch.inf).softmax(-1)
        same = bool(((w.got[seen] - wanted).abs() <= 0.02 * wanted + 50 * w.noise + 0.01).all())
        return Finding(ScoresTimesNumber(*of)) if same else None
    return Finding(ExponentTimesNumber(*of))


def _is_power(w: Weights, power: float) -> bool:
    """True if every weight is the right one to this power: what is divided by was taken along."""
    telling = w.visible & (w.right > 50 * w.noise)
    wanted = w.right[telling] ** power
    return bool(((w.got[telling] - wanted).abs() <= 0.02 * wanted + 50 * w.noise).all())


def _meaning(slope: float, outcome: Outcome) -> str:
    D = outcome.case.sizes.get("D", 0)
    known = {"ln 2": math.log(2), "log2 e": 1 / math.log(2)}
    if D:
        known |= {"√D": math.sqrt(D), "1/√D": 1 / math.sqrt(D), "D": D, "1/D": 1 / D}
    return next((words for words, value in known.items() if math.isclose(slope, value, rel_tol=0.02)), "")
