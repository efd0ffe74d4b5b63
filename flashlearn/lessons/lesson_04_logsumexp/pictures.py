"""The picture of lesson 04: the scan over tiles."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from flashlearn.lessons.shared.picture_style import GREY, Picture, bare, colour_of
from flashlearn.lessons.shared.printed_numbers import number
from flashlearn.lessons.shared.slider import Slider, slider


def online_scan(scores: Sequence[float], block: int, seen: int | None = None) -> Picture:
    """Above, the scores and the maximum so far; below, what each tile contributes to l after every step.

    After `seen` tiles (all, if not given): the scores of the others are only outlined.
    """
    s = np.asarray(scores, dtype=float)
    tiles = [s[start : start + block] for start in range(0, len(s), block)]
    figure = Figure(figsize=(9.2, 5.0), layout="constrained")
    above, below = figure.subplots(2, 1, height_ratios=(1.15, 1.0))
    for axes in (above, below):
        bare(axes)
    m, parts, history = -math.inf, [], []
    seen = len(tiles) if seen is None else seen
    for t, tile in enumerate(tiles):
        columns = range(t * block, t * block + len(tile))
        if t >= seen:
            above.bar(columns, tile, width=0.7, fill=False, edgecolor=GREY, linewidth=0.8)
            continue
        above.bar(columns, tile, width=0.7, color=colour_of(t))
        m_new = max(m, float(tile.max()))
        rescale = math.exp(m - m_new)
        parts = [part * rescale for part in parts] + [float(np.exp(tile - m_new).sum())]
        _steps(above, below, t, block, (m, m_new), rescale, parts)
        m = m_new
        history.append((m, sum(parts)))
    above.axhline(0, color=GREY, linewidth=0.8)
    above.set_xlim(-0.6, len(tiles) * block - 0.4)
    low, high = min(0.0, float(s.min())), max(0.0, float(s.max()))
    above.set_ylim(low - 0.1 * (high - low), high + 0.24 * (high - low))
    above.set_xticks(range(len(s)))
    above.set_xlabel("column j")
    above.set_ylabel("score, and maximum so far")
    below.set_xlim(-0.6, len(tiles) * block - 0.4)
    below.set_ylim(0, 1.3 * _largest_sum(tiles))
    below.set_xticks(
        [(t + 0.5) * block - 0.5 for t in range(len(tiles))],
        [f"after tile {t}" for t in range(len(tiles))],
    )
    below.set_ylabel("l, tile by tile")
    description = "; ".join(f"m = {number(m, 2)}, l = {number(total, 3)}" for m, total in history)
    return Picture(figure, f"After each tile: {description}.")


def sliding_scan(scores: Sequence[float], block: int) -> Slider:
    """The scan step by step, from its second tile on: how many tiles it has seen is to be moved."""
    count = -(-len(scores) // block)
    return slider(
        lambda tiles: online_scan(scores, block, tiles), {"tiles": min(2, count)}, tiles=range(1, count + 1)
    )


def _largest_sum(tiles: Sequence[np.ndarray]) -> float:
    """The largest l on the way, so that every step is drawn on one scale."""
    rows = [np.concatenate(tiles[: t + 1]) for t in range(len(tiles))]
    return max(float(np.exp(row - row.max()).sum()) for row in rows)


def _steps(
    above: Axes,
    below: Axes,
    t: int,
    block: int,
    maxima: tuple[float, float],
    rescale: float,
    parts: Sequence[float],
) -> None:
    """One tile's maximum line above, and its stacked bar below with the factor that shrank the rest."""
    m, m_new = maxima
    first, middle = t * block - 0.5, (t + 0.5) * block - 0.5
    above.plot([first, first + block], [m_new, m_new], color=GREY, linewidth=2)
    above.annotate(
        f"m = {number(m_new, 1)}", (middle, m_new), (0, 5), textcoords="offset points",
        ha="center", color=GREY, fontsize=10.5,
    )  # fmt: skip
    bottom = 0.0
    for k, part in enumerate(parts):
        below.bar(middle, part, bottom=bottom, width=0.42 * block, color=colour_of(k))
        bottom += part
    below.annotate(
        f"l = {number(bottom, 3)}", (middle, bottom), (0, 4), textcoords="offset points",
        ha="center", color=GREY, fontsize=10.5,
    )  # fmt: skip
    if t:
        factor = number(rescale, 3) if m_new > m else "1"
        below.text(first, 0.5 * (bottom - parts[-1]), f"· {factor} →", ha="center", color=GREY, fontsize=10.5)
