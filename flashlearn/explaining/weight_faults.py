"""What weights P show that are off by a factor: in a row, in a tile of a row, or in the exponent.

Each look takes the weights of one head of one case and gives a finding, or None.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from flashlearn.explaining.findings.weight_factors import (
    BoundedLse,
    ExponentTimesNumber,
    NotRescaled,
    PToAPower,
    QueriesCountedAgain,
    QueriesCountedSeveralTimes,
    RowsOfPFactor,
    ScoresTimesNumber,
    TilesCountedTwice,
)
from flashlearn.explaining.read_weights import MIN_WEIGHT, Weights
from flashlearn.outcome import Finding, Outcome

MOST_TIMES = 8
"""The most visits of a query that are counted: larger factors may be whole numbers by chance."""

MIN_BOUNDED = 2
"""Rows that must show the same bound of LSE before it is named."""


def _ratios(w: Weights) -> tuple[Tensor, Tensor]:
    """log(got / right) where both are large enough to tell, and which pairs those are."""
    telling = w.visible & (w.right > 50 * w.noise + 10 * MIN_WEIGHT) & (w.got > 50 * w.noise)
    return torch.where(telling, w.got / w.right, 1.0).log(), telling


def find_row_factors(w: Weights, outcome: Outcome) -> Finding | None:
    """Right within each row, or within each tile of a row, up to a factor; no pair is missing or leaks."""
    ratio, telling = _ratios(w)
    if int(telling.sum()) < 8 or bool((w.visible & (w.right > 0.1) & ~telling).any()):
        return None
    slack = 0.02 + 50 * w.noise
    if bool(w.missing.any()) or float(ratio[telling].abs().max()) < slack:
        return None
    if _spread(ratio, telling) >= slack:
        return _tiles_of_rows(w, ratio, telling, slack, outcome)
    of_row = torch.stack(
        [r[t].mean().exp() if t.any() else r.new_tensor(1.0) for r, t in zip(ratio, telling, strict=True)]
    )
    known = telling.any(1)
    if not _proportional(w, of_row, known):
        return None
    low, high = float(of_row[known].min()), float(of_row[known].max())
    if high - low < slack * high and abs(high - 1) > slack:
        return None  # one factor for everything: the constant's own rule says it better
    return (
        _counted_again(of_row, known, outcome)
        or _bounded_lse(w, of_row, known, outcome)
        or Finding(RowsOfPFactor(outcome.case.name, (low, high), w.recomputed))
    )


def _proportional(w: Weights, of_row: Tensor, known: Tensor) -> bool:
    """True if all pairs of these rows fit their factors, small ones too, and enough rows have several."""
    several = w.visible & (w.right > 50 * w.noise + 10 * MIN_WEIGHT)
    off = (of_row - 1).abs() > 0.02
    if int((several.sum(1) > 1)[off & known].sum()) < 0.5 * int((off & known).sum()):
        return False
    gap = (w.got - of_row[:, None] * w.right).abs()
    room = 0.02 * of_row[:, None] * w.right + 50 * w.noise + MIN_WEIGHT
    return bool((gap <= room)[known].all())


def _counted_again(of_row: Tensor, known: Tensor, outcome: Outcome) -> Finding | None:
    """Rows that count a whole number of times: the same for all but those that count once, or several."""
    steps = of_row.round()
    if bool(((of_row - steps).abs() > 2e-3 * of_row)[known].any()):
        return None
    again = (known & (steps > 1)).nonzero().flatten()
    times = int(steps[again].max()) if len(again) else 0
    if not 2 <= times <= MOST_TIMES or bool((known & (steps < 1)).any()):
        return None
    if bool((known & (steps != 1) & (steps != times)).any()):
        fewest = int(steps[known].min())
        return Finding(QueriesCountedSeveralTimes(outcome.case.name, fewest, times))
    queries = int(again[0]), int(again[-1])
    return Finding(QueriesCountedAgain(outcome.case.name, queries, times, len(again)))


def _bounded_lse(w: Weights, of_row: Tensor, known: Tensor, outcome: Outcome) -> Finding | None:
    """Rows with the factor exp(LSE − bound), where LSE is beyond one bound, and the others right."""
    if not w.recomputed:
        return None
    lse = w.scores.masked_fill(~w.visible, -torch.inf).logsumexp(1)
    slack = 0.02 + 50 * w.noise
    off = known & ((of_row - 1).abs() > slack)
    bounds = (lse - of_row.log())[off]
    if len(bounds) < MIN_BOUNDED or _range(bounds) > 1e-3 + 50 * w.noise or _range(lse[off]) < 0.2:
        return None
    bound, upper = float(bounds.mean()), bool((of_row[off] > 1).all())
    right = lse[known & ~off]
    beyond = (right - bound if upper else bound - right) > slack
    if not (upper or bool((of_row[off] < 1).all())) or bool(beyond.any()):
        return None
    return Finding(BoundedLse(outcome.case.name, bound, upper, int(off.sum()), len(lse)))


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
