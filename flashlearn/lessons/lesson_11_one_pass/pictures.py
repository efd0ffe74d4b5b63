"""The pictures of lesson 11: who owns what in one pass, and shares in places of their own."""

from __future__ import annotations

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


def owners(rows: int = 4, columns: int = 5) -> Picture:
    """The tiles of S, coloured by the program that visits them: a program owns keys, or it owns queries."""
    figure = Figure(figsize=(9.0, 0.6 * (rows + 2.1) + 1.1), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, by_row in zip(panels, (False, True), strict=True):
        _owners_panel(axes, by_row, rows, columns)
    return Picture(
        figure,
        f"On the left {columns} programs own a column of tiles each, finish its dK and dV, and all add to "
        f"each block of dQ; on the right {rows} programs own a row of tiles each, finish its dQ, and all "
        f"add to each block of dK and of dV.",
    )


def _owners_panel(axes: Axes, by_row: bool, rows: int, columns: int) -> None:
    bare(axes)
    for i in range(rows):
        for j in range(columns):
            cell(axes, j, i, "", colour_of(i if by_row else j))
        _block(axes, columns + 0.35, i, "dQ", colour_of(i) if by_row else None)
        if by_row:
            _arrow(axes, 0.3, i + 0.5, columns - 0.75, 0)
    for j in range(columns):
        _block(axes, j, rows + 0.35, "dK", None if by_row else colour_of(j), high=0.62)
        _block(axes, j, rows + 1.1, "dV", None if by_row else colour_of(j), high=0.62)
        if not by_row:
            _arrow(axes, j + 0.5, 0.3, 0, rows - 0.75)
    axes.set_aspect("equal")
    axes.set_xlim(-0.15, columns + 1.45)
    axes.set_ylim(rows + 1.95, -0.15)
    axes.set_xticks([])
    axes.set_yticks([])
    shared = "all add to dK and dV" if by_row else "all add to dQ"
    axes.set_title(f"a program owns {'queries' if by_row else 'keys'}, {shared}", color=GREY, fontsize=11)
    axes.set_ylabel("blocks of queries", color=GREY)
    axes.set_xlabel("blocks of keys", color=GREY)


def _arrow(axes: Axes, x: float, y: float, dx: float, dy: float) -> None:
    axes.add_patch(
        FancyArrow(
            x, y, dx, dy, width=0.03, head_width=0.22, head_length=0.25,
            length_includes_head=True, color=ON_COLOUR,
        )
    )  # fmt: skip


def _block(axes: Axes, x: float, y: float, text: str, colour: str | None, high: float = 0.88) -> None:
    """A block of an output; a dashed one without a colour belongs to no program."""
    box = Rectangle(
        (x + 0.04, y + 0.06), 0.92, high, facecolor=colour or "none", edgecolor=colour or GREY,
        linestyle="-" if colour else (0, (3, 2)), linewidth=1.2,
    )  # fmt: skip
    axes.add_patch(box)
    axes.text(
        x + 0.5, y + 0.06 + high / 2, text, ha="center", va="center_baseline",
        color=ON_COLOUR if colour else GREY, fontsize=10, weight="bold",
    )  # fmt: skip


def parts(rows: int = 4, columns: int = 5) -> Picture:
    """A part of memory for each block of keys, and the sum along them in a fixed order."""
    figure, (axes,) = canvas(8.6, 3.4)
    for j in range(columns):
        for i in range(rows):
            cell(axes, 1.25 * j, i, f"share\n{i}, {j}", colour_of(j))
        if j:
            axes.text(1.25 * j - 0.125, rows / 2, "+", ha="center", va="center", color=GREY, fontsize=13)
    end = 1.25 * columns
    axes.text(end - 0.1, rows / 2, "=", ha="center", va="center", color=GREY, fontsize=13)
    for i in range(rows):
        cell(axes, end + 0.15, i, f"dQ {i}", GREY)
    axes.set_aspect("equal")
    axes.set_xlim(-0.15, end + 1.3)
    axes.set_ylim(rows + 0.1, -0.1)
    axes.set_xticks([1.25 * j + 0.5 for j in range(columns)], [f"program {j}" for j in range(columns)])
    axes.set_yticks([i + 0.5 for i in range(rows)], [f"block {i}" for i in range(rows)])
    axes.set_xlabel(
        "written by the first kernel, each part by one program; added by the second, left to right"
    )
    axes.set_ylabel("queries")
    return Picture(
        figure,
        f"{columns} parts of memory, each as large as dQ and written by one program; a second kernel adds "
        f"them from left to right, always in the same order.",
    )


def errors_by_length(lengths: Sequence[int], errors: Sequence[float], sizes: Sequence[float]) -> Picture:
    """The largest error without delta, and the largest entry of dQ, over S, with a bar at 5e-3."""
    figure, (axes,) = canvas(7.2, 3.4)
    axes.loglog(lengths, sizes, "o-", color=PALETTE[0], label="largest entry of dQ")
    axes.loglog(lengths, errors, "s-", color=PALETTE[1], label="largest error without delta")
    axes.axhline(5e-3, color=GREY, linewidth=1.2, linestyle=(0, (4, 3)))
    axes.text(lengths[0], 5.2e-3, "the bar, 5e-3", color=GREY, ha="left", va="bottom")
    axes.set_xticks(lengths, [str(length) for length in lengths])
    axes.minorticks_off()
    axes.set_xlabel("queries and keys")
    axes.set_ylabel("largest absolute value")
    legend = axes.legend(frameon=False)
    for text in legend.get_texts():
        text.set_color(GREY)
    caption = "; ".join(
        f"S {n}: error {e:.0e} of {s:.0e}" for n, e, s in zip(lengths, errors, sizes, strict=True)
    )
    return Picture(figure, f"Without delta, {caption}; the bar is 5e-3.")
