"""More pictures of lesson 15: a ragged batch padded and packed, which weights are dropped, a sink's share."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from flashlearn.lessons.lesson_15_variants import philox
from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, bare, canvas, colour_of


def padded_and_packed(lengths: Sequence[int], block: int = 16) -> Picture:
    """A batch with its padding, and the pairs of the packed batch with the tiles that are visited."""
    figure = Figure(figsize=(8.6, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    _padded(left, lengths)
    tiles = _packed(right, lengths, block)
    total, most = sum(lengths), max(lengths)
    padding = 1 - total / (most * len(lengths))
    left.set_xlabel(f"tokens; {padding:.0%} of the padded batch is padding", color=GREY)
    right.set_xlabel(f"keys; {tiles} tiles of {block} × {block} are visited", color=GREY)
    return Picture(
        figure,
        f"Sequences of {', '.join(map(str, lengths))}: padded to {most}, {padding:.0%} is padding; packed, "
        f"their pairs are squares along the diagonal, and {tiles} tiles of {block} by {block} cover them.",
    )


def _padded(axes: Axes, lengths: Sequence[int]) -> None:
    bare(axes)
    most = max(lengths)
    for n, length in enumerate(lengths):
        axes.barh(n, length, height=0.8, color=colour_of(n))
        rest = Rectangle(
            (length, n - 0.4), most - length, 0.8, fill=False, edgecolor=GREY, linestyle=(0, (3, 2))
        )
        axes.add_patch(rest)
    axes.set(xlim=(-1, most + 1), ylim=(len(lengths) - 0.4, -0.6))
    axes.set_yticks(range(len(lengths)), [f"{n}" for n in range(len(lengths))])
    axes.set_ylabel("sequence", color=GREY)


def _packed(axes: Axes, lengths: Sequence[int], block: int) -> int:
    bare(axes)
    borders = [0, *itertools.accumulate(lengths)]
    tiles = 0
    for n, (first, end) in enumerate(itertools.pairwise(borders)):
        axes.add_patch(
            Rectangle((first, first), end - first, end - first, color=colour_of(n), alpha=0.45, linewidth=0)
        )
        starts = range(first, end, block)
        for row, column in itertools.product(starts, starts):
            sides = min(block, end - column), min(block, end - row)
            axes.add_patch(Rectangle((column, row), *sides, fill=False, edgecolor=colour_of(n), linewidth=1))
            tiles += 1
    axes.set(xlim=(-1, borders[-1] + 1), ylim=(borders[-1] + 1, -1), aspect="equal")
    apart = [b for b in borders if not any(0 < b - other < borders[-1] / 12 for other in borders)]
    axes.set_xticks(apart, list(map(str, apart)))
    axes.set_yticks(apart, list(map(str, apart)))
    axes.tick_params(labelsize=8)
    axes.set_ylabel("queries", color=GREY)
    return tiles


def dropped(p: float, S: int = 64, block: int = 16, seed: int = 7) -> Picture:
    """The weights that dropout drops: numbered over the head, and, wrongly, within each tile."""
    figure = Figure(figsize=(7.6, 3.9), layout="constrained")
    panels = figure.subplots(1, 2)
    i, j = torch.arange(S)[:, None], torch.arange(S)[None, :]
    numbers = {"numbered over the head": i * S + j, "numbered within the tile": i % block * block + j % block}
    for axes, (title, position) in zip(panels, numbers.items(), strict=True):
        gone = philox.uniform(seed, position) < p
        bare(axes)
        shade = torch.zeros(S, S, 4)
        shade[..., :3] = torch.tensor([0x3A, 0x78, 0xC9]) / 255
        shade[..., 3] = gone.float()
        axes.imshow(shade.numpy(), interpolation="nearest")
        axes.set_xticks(range(0, S + 1, block))
        axes.set_yticks(range(0, S + 1, block))
        axes.set_title(title, color=GREY, fontsize=11)
        axes.set_xlabel(f"keys; {float(gone.float().mean()):.1%} dropped", color=GREY)
    panels[0].set_ylabel("queries", color=GREY)
    return Picture(
        figure,
        f"p = {p:g}: dropped weights of {S} queries and keys. Numbered over the head they have no pattern; "
        f"numbered within tiles of {block}, every tile drops the same.",
    )


SCORES = (1.0, 0.2, -0.5, 0.8, -1.2)


def sink_share(logit: float, scores: Sequence[float] = SCORES) -> Picture:
    """The weights of a row of five scores beside a sink with this logit."""
    figure, (axes,) = canvas(6.2, 2.7)
    s = torch.tensor([*scores, logit], dtype=torch.float64)
    p = s.softmax(0)
    colours = [PALETTE[0]] * len(scores) + [PALETTE[1]]
    bars = axes.bar(range(len(p)), p.tolist(), color=colours, width=0.75)
    axes.bar_label(bars, [f"{float(x):.2f}" for x in p], color=GREY, padding=2)
    axes.set_xticks(range(len(p)), [*(f"key {n}\ns = {x:g}" for n, x in enumerate(scores)), "sink"])
    axes.set(ylim=(0, 1.12), yticks=[0, 0.5, 1], ylabel="weight")
    return Picture(
        figure,
        f"A sink with the logit {logit:g} takes {float(p[-1]):.0%} of a row whose scores are "
        f"{', '.join(f'{x:g}' for x in scores)}.",
    )
