"""The pictures of lesson 15: hooks in their places, heads in groups, the tiles of a window, a cap, slopes."""

from __future__ import annotations

import itertools
import math

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from flashlearn.lessons.lesson_15_variants import passes
from flashlearn.lessons.lesson_15_variants.alibi import slopes_of
from flashlearn.lessons.shared.picture_style import (
    GREY,
    ON_COLOUR,
    PALETTE,
    Picture,
    bare,
    canvas,
    cell,
    colour_of,
)

PASSES = {
    "forward": {0: "q · k", 1: "SCORE", 2: "MASK", 3: "softmax", 4: "WEIGHTS", 5: "· v"},
    "backward": {0: "· k, · q", 1: "SCORE_\nGRADIENT", 3: "P (dP − δ)", 4: "WEIGHTS", 5: "do · v"},
}
"""The stations of a tile by their places; those in capitals are hooks."""


def hooks_in_place() -> Picture:
    """A tile's way through both passes; what a variant changes is coloured."""
    figure, (axes,) = canvas(8.6, 2.5)
    for row, (name, stations) in enumerate(PASSES.items()):
        y = 1.3 * row
        axes.text(-0.25, y + 0.45, name, ha="right", va="center", color=GREY, fontsize=11)
        for place, title in stations.items():
            _station(axes, 1.5 * place, y, title)
        places = sorted(stations)
        for before, after in itertools.pairwise(places):
            ends = 1.5 * before + 1.16, 1.5 * after - 0.06
            start, end = ends if name == "forward" else ends[::-1]
            axes.annotate(
                "", (end, y + 0.45), (start, y + 0.45), arrowprops={"arrowstyle": "->", "color": GREY}
            )
    axes.set(xlim=(-1.3, 8.8), ylim=(2.4, -0.2), xticks=[], yticks=[])
    axes.set_xlabel("KEYS and QUERIES choose the tiles, KEY_HEAD and QUERY_HEADS the heads")
    return Picture(
        figure,
        "Forward: q · k, SCORE, MASK, softmax, WEIGHTS, times v. Backward, from right to left: do · v, "
        "WEIGHTS, P (dP − delta), SCORE_GRADIENT, times k and q. What is in capitals is a hook.",
    )


def _station(axes: Axes, x: float, y: float, title: str) -> None:
    hook = title.replace("\n", "").replace("_", "").isalpha() and title.isupper()
    box = FancyBboxPatch(
        (x, y), 1.1, 0.9, boxstyle="round,pad=0.02,rounding_size=0.12",
        facecolor=PALETTE[0] if hook else "none", edgecolor=PALETTE[0] if hook else GREY,
    )  # fmt: skip
    axes.add_patch(box)
    ink = ON_COLOUR if hook else GREY
    axes.text(x + 0.55, y + 0.45, title, ha="center", va="center", color=ink, fontsize=9)


def heads(H_k: int, H: int = 8) -> Picture:
    """Which head of K and V each of H heads of Q reads; a colour for each head of K and V."""
    figure, (axes,) = canvas(6.6, 2.3)
    group = H // H_k
    for h in range(H):
        cell(axes, h, 0, f"{h}", colour_of(h // group))
    for h_k in range(H_k):
        middle = h_k * group + (group - 1) / 2
        cell(axes, middle, 2, f"{h_k}", colour_of(h_k))
        for h in range(h_k * group, (h_k + 1) * group):
            axes.plot([h + 0.5, middle + 0.5], [0.98, 2.02], color=colour_of(h_k), linewidth=1.6)
    axes.set(xlim=(-0.1, H + 0.1), ylim=(3.1, -0.1), xticks=[], aspect="equal")
    axes.set_yticks([0.5, 2.5], ["heads of Q", "heads of K and V"])
    axes.set_xlabel(f"{group} head{'s' if group > 1 else ''} of Q for each head of K and V")
    return Picture(
        figure, f"H = {H} heads of Q, H_k = {H_k} of K and V: {group} adjacent heads of Q for each of these."
    )


def tiles_of(S_q: int, S_k: int, window: int | None, block: int) -> tuple[torch.Tensor, torch.Tensor]:
    """[blocks of queries, blocks of keys]: whether a pair of the tile is seen, and whether all are."""
    seen = passes.visible(S_q, S_k, torch.empty(0), window)
    rows, columns = math.ceil(S_q / block), math.ceil(S_k / block)
    tiles = [
        [seen[i * block : (i + 1) * block, j * block : (j + 1) * block] for j in range(columns)]
        for i in range(rows)
    ]
    return (
        torch.tensor([[bool(tile.any()) for tile in row] for row in tiles]),
        torch.tensor([[bool(tile.all()) for tile in row] for row in tiles]),
    )


def window_tiles(window: int, sizes: tuple[tuple[int, int], ...] = ((256, 256), (160, 256))) -> Picture:
    """The tiles of 32 × 32 that a window needs: whole ones, and in another colour those that need a mask."""
    block = 32
    figure = Figure(figsize=(4.0 * len(sizes), 3.9), layout="constrained")
    panels = figure.subplots(1, len(sizes), squeeze=False)[0]
    captions = []
    for axes, (S_q, S_k) in zip(panels, sizes, strict=True):
        some, whole = tiles_of(S_q, S_k, window, block)
        causal = int(tiles_of(S_q, S_k, None, block)[0].sum())
        _tiles(axes, some, whole, block)
        axes.set_title(f"S_q = {S_q}, S_k = {S_k}", color=GREY, fontsize=11)
        axes.set_xlabel(f"{int(some.sum())} tiles; {causal} causal; {some.numel()} in all", color=GREY)
        captions.append(f"S {S_q} × {S_k}: {int(some.sum())} of {causal} causal tiles")
    panels[0].set_ylabel("queries", color=GREY)
    for colour, what, x in ((PALETTE[2], "whole", 0.3), (PALETTE[0], "needs the mask", 0.42)):
        figure.text(x, 1.0, what, color=colour, fontsize=10, weight="bold", va="bottom")
    return Picture(figure, f"A window of {window} needs, at {'; '.join(captions)}.")


def _tiles(axes: Axes, some: torch.Tensor, whole: torch.Tensor, block: int) -> None:
    bare(axes)
    rows, columns = some.shape
    for i in range(rows):
        for j in range(columns):
            colour = PALETTE[2] if whole[i, j] else PALETTE[0] if some[i, j] else None
            cell(axes, j, i, "", colour, ghost=not some[i, j])
    axes.set(xlim=(-0.1, columns + 0.1), ylim=(rows + 0.1, -0.1), aspect="equal")
    axes.set_xticks(range(columns), [str(block * j) for j in range(columns)])
    axes.set_yticks(range(rows), [str(block * i) for i in range(rows)])
    axes.tick_params(labelsize=8)
    axes.xaxis.tick_top()


def cap_curve(cap: float) -> Picture:
    """The capped score and its derivative over the score."""
    figure, panels = canvas(6.0, 3.6, rows=2, sharex=True)
    x = torch.linspace(-100, 100, 401, dtype=torch.float64)
    y = torch.tanh(x / cap)
    panels[0].plot(x, x, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
    panels[0].plot(x, cap * y, color=PALETTE[0])
    panels[0].set(ylim=(-60, 60), ylabel="s")
    panels[1].plot(x, 1 - y**2, color=PALETTE[1])
    panels[1].set(ylim=(-0.05, 1.05), ylabel="ds/dx", xlabel="x = α q · k")
    for axes in panels:
        axes.grid(color=GREY, alpha=0.25)
    at = float(1 - math.tanh(50 / cap) ** 2)
    return Picture(
        figure,
        f"cap {cap:g}: the score bends towards ±{cap:g}; its derivative is 1 at 0 and {at:.2g} at x = 50.",
    )


def weights_by_distance(H: int = 8, steps: int = 256) -> Picture:
    """By which factor each head's slope lowers the weight of a key, over its distance."""
    figure, (axes,) = canvas(7.0, 3.2)
    distance = torch.arange(steps)
    for h, slope in enumerate(slopes_of(H)):
        colour = colour_of(h)
        style = "-" if h < len(PALETTE) else "--"
        axes.plot(distance, torch.exp(-slope * distance), style, color=colour, label=f"$2^{{-{h + 1}}}$")
    axes.set(xlabel="distance of the key, in tokens", ylabel="factor of its weight")
    axes.legend(title="slope", frameon=False, labelcolor=GREY, ncols=2, fontsize=9)
    axes.get_legend().get_title().set_color(GREY)
    axes.grid(color=GREY, alpha=0.25)
    return Picture(
        figure,
        f"{H} heads: the first halves a key's weight about every 1.4 tokens, the last every "
        f"{math.log(2) * 2**H:.0f} tokens.",
    )
