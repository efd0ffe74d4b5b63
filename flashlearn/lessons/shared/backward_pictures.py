"""The pictures of lessons 07 and 08: who owns which tiles, which of them a causal kernel visits, traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrow, Rectangle

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

SHAPES = {
    "dq": ("dQ: a program owns queries", "and scans keys"),
    "dkv": ("dK, dV: a program owns keys", "and scans queries"),
    "one pass": ("all three at once: owns keys", "and adds to every dQ"),
}


def parallel_shapes(*kernels: str, rows: int = 4, columns: int = 5) -> Picture:
    """For each of "dq", "dkv", "one pass": the tiles of S, coloured by the program that visits them."""
    kernels = kernels or ("dq", "dkv")
    below = 0.15 if set(kernels) == {"dq"} else 2.1  # room for blocks of dK and dV
    figure = Figure(figsize=(3.9 * len(kernels), 0.6 * (rows + below) + 0.8), layout="constrained")
    panels = figure.subplots(1, len(kernels), squeeze=False)[0]
    for axes, kernel in zip(panels, kernels, strict=True):
        _shape(axes, kernel, rows, columns)
        axes.set_ylim(rows + below, -0.15)
    captions = {
        "dq": f"{rows} programs own a row of tiles each and write one block of dQ",
        "dkv": f"{columns} programs own a column of tiles each and write one block of dK and of dV",
        "one pass": f"{columns} programs own a column each, and all of them add to each block of dQ",
    }
    return Picture(figure, "; ".join(captions[kernel] for kernel in kernels) + ".")


def _shape(axes: Axes, kernel: str, rows: int, columns: int) -> None:
    by_row = kernel == "dq"
    bare(axes)
    for i in range(rows):
        for j in range(columns):
            cell(axes, j, i, "", colour_of(i if by_row else j))
    if by_row:
        for i in range(rows):
            _arrow(axes, 0.3, i + 0.5, columns - 0.75, 0)
    else:
        for j in range(columns):
            _arrow(axes, j + 0.5, 0.3, 0, rows - 0.75)
    if kernel != "dkv":
        for i in range(rows):
            _block(axes, columns + 0.35, i, "dQ", colour_of(i) if by_row else None)
    if kernel != "dq":
        for j in range(columns):
            _block(axes, j, rows + 0.35, "dK", colour_of(j), high=0.62)
            _block(axes, j, rows + 1.1, "dV", colour_of(j), high=0.62)
    axes.set_aspect("equal")
    axes.set_xlim(-0.15, columns + 1.45)
    axes.set_xticks([])
    axes.set_yticks([])
    title, subtitle = SHAPES[kernel]
    axes.set_title(f"{title},\n{subtitle}", color=GREY, fontsize=11)
    axes.set_ylabel("blocks of queries", color=GREY)
    axes.xaxis.set_label_position("bottom")
    axes.set_xlabel("blocks of keys", color=GREY)


def _arrow(axes: Axes, x: float, y: float, dx: float, dy: float) -> None:
    axes.add_patch(
        FancyArrow(
            x, y, dx, dy, width=0.03, head_width=0.22, head_length=0.25,
            length_includes_head=True, color=ON_COLOUR,
        )
    )  # fmt: skip


def _block(axes: Axes, x: float, y: float, text: str, colour: str | None, high: float = 0.88) -> None:
    """One block of an output; a dashed one without a colour belongs to several programs."""
    box = Rectangle(
        (x + 0.04, y + 0.06), 0.92, high, facecolor=colour or "none", edgecolor=colour or GREY,
        linestyle="-" if colour else (0, (3, 2)), linewidth=1.2,
    )  # fmt: skip
    axes.add_patch(box)
    axes.text(
        x + 0.5, y + 0.06 + high / 2, text, ha="center", va="center_baseline",
        color=ON_COLOUR if colour else GREY, fontsize=10, weight="bold",
    )  # fmt: skip


# ---------------------------------------------------------------- causal: visited, cut, left out


def visits(S_q: int, S_k: int, block: int, owner: str) -> dict[tuple[int, int], str]:
    """What a causal kernel does with tile (i, j): "whole", "cut" by the diagonal, "left out" (or "in vain").

    `owner` is "queries" (a loop end per row of tiles) or "keys" (a loop start per column of tiles): the
    same tiles are visited.
    """
    offset, found = S_k - S_q, {}
    for i in range(math.ceil(S_q / block)):
        last_row = min((i + 1) * block, S_q) - 1
        for j in range(math.ceil(S_k / block)):
            last_column = min((j + 1) * block, S_k) - 1
            if owner == "queries":
                seen = j * block < min(S_k, (i + 1) * block + offset)
            else:
                seen = i >= max(0, j * block - offset) // block
            whole = last_column <= i * block + offset
            some = j * block <= last_row + offset
            found[i, j] = "left out" if not seen else "whole" if whole else "cut" if some else "in vain"
    return found


def causal_tiles(owner: str, sizes: Sequence[tuple[int, int]], block: int = 32) -> Picture:
    """The tiles that a causal kernel visits, one panel per (S_q, S_k), coloured by program."""
    figure = Figure(figsize=(3.6 * len(sizes), 3.7), layout="constrained")
    panels = figure.subplots(1, len(sizes), squeeze=False)[0]
    captions = []
    for axes, (S_q, S_k) in zip(panels, sizes, strict=True):
        tiles = visits(S_q, S_k, block, owner)
        _causal_panel(axes, tiles, S_q, S_k, block, owner)
        visited = sum(what != "left out" for what in tiles.values())
        captions.append(f"S {S_q} × {S_k}: {visited} of {len(tiles)} tiles")
        axes.set_xlabel(f"{visited} of {len(tiles)} tiles", color=GREY)
    panels[0].set_ylabel("queries", color=GREY)
    whose = "row" if owner == "queries" else "column"
    return Picture(figure, f"A program per {whose} of tiles visits, at {'; '.join(captions)}.")


def _causal_panel(axes: Axes, tiles: dict, S_q: int, S_k: int, block: int, owner: str) -> None:
    bare(axes)
    for (i, j), what in tiles.items():
        colour = None if what == "left out" else colour_of(i if owner == "queries" else j)
        cell(axes, j, i, "mask" if what == "cut" else "", colour, ghost=what == "left out")
    high, wide = S_q / block, S_k / block
    offset = (S_k - S_q) / block
    start = max(0.0, -offset)  # the first query that sees something
    axes.plot([max(0.0, offset), wide], [start, high], color=GREY, linewidth=1.6)
    if start:
        axes.plot([-0.08, -0.08], [0, start], color=PALETTE[1], linewidth=4, solid_capstyle="butt")
        axes.text(-0.2, start / 2, "see nothing", rotation=90, color=PALETTE[1], ha="right", va="center")
    axes.set_aspect("equal")
    axes.set_xlim(-0.55, math.ceil(wide) + 0.1)
    axes.set_ylim(math.ceil(high) + 0.1, -0.1)
    axes.set_xticks([j for j in range(math.ceil(wide))], [str(block * j) for j in range(math.ceil(wide))])
    axes.set_yticks([i for i in range(math.ceil(high))], [str(block * i) for i in range(math.ceil(high))])
    axes.xaxis.tick_top()
    axes.set_title(f"S_q = {S_q}, S_k = {S_k}", color=GREY, fontsize=11)


# ---------------------------------------------------------------- bars, and a padded tile


def requested(counts: dict[str, dict[str, float]], unit: str = "KiB requested") -> Picture:
    """Stacked bars: for each variant, how much of each tensor was requested."""
    figure, (axes,) = canvas(8.6, 0.62 * len(counts) + 1.7)
    names = list(dict.fromkeys(name for parts in counts.values() for name in parts))
    longest = max(sum(parts.values()) for parts in counts.values())
    for y, parts in enumerate(counts.values()):
        left = 0.0
        for name, amount in parts.items():
            axes.barh(y, amount, left=left, height=0.62, color=colour_of(names.index(name)))
            if amount > 0.035 * longest:
                axes.text(
                    left + amount / 2, y, name, color=ON_COLOUR, weight="bold", ha="center", va="center"
                )
            left += amount
        axes.text(left + 0.01 * longest, y, f"{left:.0f}", color=GREY, va="center")
    axes.set_yticks(range(len(counts)), list(counts))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.08 * longest)
    axes.set_xlabel(unit)
    totals = "; ".join(f"{variant}: {sum(parts.values()):.0f}" for variant, parts in counts.items())
    return Picture(figure, f"{unit}: {totals}.")


def padded_tiles(tiles: dict[str, Sequence[Sequence[float]]], real: int) -> Picture:
    """The tile P under different fillers, one panel each; rows from `real` on are padding."""
    figure = Figure(figsize=(3.1 * len(tiles), 3.6), layout="constrained")
    panels = figure.subplots(1, len(tiles), squeeze=False)[0]
    for axes, (title, tile) in zip(panels, tiles.items(), strict=True):
        bare(axes)
        for i, row in enumerate(tile):
            for j, value in enumerate(row):
                padded = i >= real
                colour = PALETTE[2] if not padded else PALETTE[1] if value else None
                cell(axes, j, i, _share(value), colour, ghost=padded and not value)
        axes.set_aspect("equal")
        axes.set_xlim(-0.1, len(tile[0]) + 0.1)
        axes.set_ylim(len(tile) + 0.1, -0.1)
        axes.set_xticks([j + 0.5 for j in range(len(tile[0]))], [str(j) for j in range(len(tile[0]))])
        axes.set_xlabel("key", color=GREY)
        labels = [f"query {i}" if i < real else "padding" for i in range(len(tile))]
        axes.set_yticks(
            [i + 0.5 for i in range(len(tile))], labels if axes is panels[0] else [""] * len(tile)
        )
        axes.set_title(title, color=GREY, fontsize=11)
    firsts = "; ".join(f"{title} P = {_share(tile[real][0])}" for title, tile in tiles.items())
    return Picture(figure, f"In the first padded row, {firsts}.")


def _share(value: float) -> str:
    if math.isinf(value):
        return "∞"
    text = f"{value:.2f}"
    return "0" if text == "0.00" else "1" if text == "1.00" else text.lstrip("0")
