"""The pictures of lesson 10: what depends on what, a tile from two sources, and who kills whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from flashlearn.lessons.lesson_10_clinic.patients import DEPENDS
from flashlearn.lessons.shared.picture_style import GREY, ON_COLOUR, PALETTE, Picture, bare, canvas, cell

BLUE, ORANGE, TEAL = PALETTE[:3]
PLACES = {
    "q": (0, 4), "k": (0, 3), "lse": (0, 2), "v": (0, 1), "do": (0, 0), "o": (0, -1),
    "s": (1.5, 3.5), "p": (3, 2.6), "dp": (3, 0.8), "delta": (3, -0.6), "ds": (4.5, 0.8),
    "dv": (6, 2.6), "dq": (6, 1.5), "dk": (6, 0.1),
}  # fmt: skip
WIDTH, HEIGHT = 0.4, 0.27


def dependencies(right: Iterable[str], suspects: Iterable[str]) -> Picture:
    """The lines of a backward kernel: crossed out what a right output clears, orange what is left."""
    figure, (axes,) = canvas(9.0, 4.6)
    cleared = set(right)
    for output in right:
        _clear(output, cleared)
    suspects = set(suspects)
    for name, parts in DEPENDS.items():
        for part in parts:
            if part in PLACES:
                _arrow(axes, part, name, TEAL if name in cleared else ORANGE if name in suspects else GREY)
    for name, place in PLACES.items():
        colour = None
        if name in DEPENDS:
            colour = TEAL if name in cleared else ORANGE if name in suspects else GREY
        _node(axes, name, place, colour)
    axes.text(6, 4.0, "right, or part of it", color=TEAL, fontsize=11, weight="bold", ha="right")
    axes.text(6, 3.6, "suspect", color=ORANGE, fontsize=11, weight="bold", ha="right")
    axes.set_xlim(-0.6, 6.6)
    axes.set_ylim(-1.5, 4.5)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel("from the inputs (left) to the outputs (right); alpha enters at s, dq and dk")
    text = f"Cleared: {', '.join(sorted(cleared & set(DEPENDS)))}; suspect: {', '.join(sorted(suspects))}."
    return Picture(figure, text)


def _clear(name: str, cleared: set[str]) -> None:
    for part in DEPENDS.get(name, ()):
        if part in DEPENDS:
            cleared.add(part)
            _clear(part, cleared)


def _node(axes: Axes, name: str, place: tuple[float, float], colour: str | None) -> None:
    x, y = place
    axes.add_patch(
        FancyBboxPatch(
            (x - WIDTH, y - HEIGHT), 2 * WIDTH, 2 * HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.08", facecolor=colour or "none", edgecolor=colour or GREY,
            linewidth=1.2, zorder=3,
        )
    )  # fmt: skip
    ink = ON_COLOUR if colour else GREY
    weight = "bold" if colour else "normal"
    axes.text(x, y, name, color=ink, weight=weight, fontsize=11.5, ha="center", va="center", zorder=4)


def _arrow(axes: Axes, start: str, end: str, colour: str) -> None:
    (x0, y0), (x1, y1) = PLACES[start], PLACES[end]
    axes.add_patch(
        FancyArrowPatch(
            (x0 + WIDTH, y0), (x1 - WIDTH, y1), arrowstyle="-|>", mutation_scale=11, color=colour,
            linewidth=1.4, shrinkA=0, shrinkB=1, zorder=2,
        )
    )  # fmt: skip


def side_by_side(tiles: Mapping[str, tuple]) -> Picture:
    """For each name its tile from the kernel, from the twin, and the difference, on one scale per name."""
    rows = len(tiles)
    high, wide = next(iter(tiles.values()))[1].shape
    figure = Figure(figsize=(9.0, (2.7 * high / wide + 0.5) * rows + 0.3), layout="constrained")
    panels = figure.subplots(rows, 3, squeeze=False)
    texts = []
    for line, (name, pair) in zip(panels, tiles.items(), strict=True):
        mine, theirs = (np.asarray(x, dtype=float) for x in pair)
        mine = mine[: theirs.shape[0], : theirs.shape[1]]
        largest = max(float(np.abs(theirs).max()), 1e-30)
        gap = mine - theirs
        titles = (f"{name}, the kernel's", f"{name}, the twin's", "difference")
        for axes, matrix, title in zip(line, (mine, theirs, gap), titles, strict=True):
            _heat(axes, matrix, largest)
            axes.set_title(title, color=GREY, fontsize=11.5)
        line[0].set_ylabel("query", color=GREY)
        texts.append(f"{name}: largest difference {np.abs(gap).max():.2g}, largest value {largest:.2g}")
    for axes in panels[-1]:
        axes.set_xlabel("key", color=GREY)
    panels[-1][1].set_xlabel("key\nblue: above zero, orange: below; the stronger, the larger", color=GREY)
    return Picture(figure, "; ".join(texts) + ".")


def _heat(axes: Axes, matrix: np.ndarray, largest: float) -> None:
    """Blue above zero, orange below, transparent at zero; a frame around the tile."""
    bare(axes)
    strength = np.clip(np.abs(np.nan_to_num(matrix, nan=largest)) / largest, 0, 1) ** 0.6
    image = np.zeros((*matrix.shape, 4))
    image[..., :3] = np.where((matrix >= 0)[..., None], to_rgb(BLUE), to_rgb(ORANGE))
    image[..., 3] = strength
    axes.imshow(image, interpolation="nearest", aspect="equal")
    rows, columns = matrix.shape
    axes.add_patch(Rectangle((-0.5, -0.5), columns, rows, fill=False, edgecolor=GREY, linewidth=1))
    axes.set_xticks(range(0, columns, 4))
    axes.set_yticks(range(0, rows, 4))


def kills(
    trials: Sequence[str], defendants: Sequence[str], killed: Sequence[Sequence[bool]], guilty: int
) -> Picture:
    """Who kills whom: a row per trial, a column per kernel; the first `guilty` columns are mutants."""
    figure, (axes,) = canvas(0.46 * len(defendants) + 4.2, 0.46 * len(trials) + 3.3)
    for row, line in enumerate(killed):
        for column, dead in enumerate(line):
            colour = None if not dead else BLUE if column < guilty else ORANGE
            cell(axes, column, row, "×" if dead else "", colour)
    axes.axvline(guilty, color=GREY, linewidth=1.2, linestyle="--")
    axes.set_aspect("equal")
    axes.set_xlim(-0.1, len(defendants) + 0.1)
    axes.set_ylim(len(trials) + 0.1, -0.1)
    axes.set_yticks([i + 0.5 for i in range(len(trials))], trials)
    axes.set_xticks([i + 0.5 for i in range(len(defendants))], defendants, rotation=60, ha="right")
    axes.set_xlabel("a cross: this trial kills this kernel; right of the dashed line, kernels that are right")
    counts = [
        f"{name} kills {sum(map(bool, line[:guilty]))}" for name, line in zip(trials, killed, strict=True)
    ]
    return Picture(figure, "; ".join(counts) + f", of {guilty} mutants.")
