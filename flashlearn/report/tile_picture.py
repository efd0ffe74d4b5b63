"""The tile map as a picture: a PNG with its own light background, so that darker is worse in every theme.

Drawn with matplotlib's objects, not with pyplot, under default settings: the learner's own figures and
settings stay as they are. Matplotlib is imported when the first picture is drawn.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from flashlearn.report.layout import MARGIN, PIXELS, WIDTH, PanelBox, layout
from flashlearn.report.tilemap import Panel, TileMap, edges

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUND, GREY = "#fafafa", "#555555"
# darker is worse: pale blues within what is allowed; beyond it yellow to dark red, with a jump in hue between
# (colour-blind-safe)
WITHIN, OVER = ("#e6eef5", "#c9dae8", "#a9c4da"), ("#f0b43a", "#e5822a", "#c23f1d", "#6d0f19")
PURPLE, ASH, INK = "#5b2a86", "#a9a9a9", "#1c1c1c"
LOW, HIGH = -2.0, 3.0  # decades of |error| / allowed on the colour scale
MOST_ROWS, MOST_COLUMNS = 128, 160  # of all panels: more would be smaller than a pixel, and costs bytes
LEAST_GAP = 4.0  # pixels of 1/96 inch: closer block boundaries are left out
COLOURS = 160  # of the saved picture's palette: half the bytes, with no visible difference


def png(tiles: TileMap) -> bytes:
    """The picture, drawn at twice a screen's resolution: show it at half its width in pixels."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams["hatch.linewidth"] = 0.8
        buffer = io.BytesIO()
        _draw(tiles).savefig(buffer, format="png", dpi=2 * PIXELS, facecolor=GROUND)
    return _small(buffer)


def _small(buffer: io.BytesIO) -> bytes:
    """The same picture with a palette: notebooks keep it as text, so its size counts."""
    from PIL import Image  # matplotlib brings it along

    small = io.BytesIO()
    picture = Image.open(buffer).quantize(COLOURS, method=Image.Quantize.FASTOCTREE)
    picture.save(small, format="png", optimize=True)
    return min(buffer.getvalue(), small.getvalue(), key=len)


def _draw(tiles: TileMap) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    plan = layout(tiles)
    figure = Figure(figsize=(WIDTH, plan.height))
    FigureCanvasAgg(figure)
    bounded = False
    for panel, box in zip(tiles.panels, plan.boxes, strict=True):
        across, down = box.width / WIDTH, box.height / plan.height
        axes = figure.add_axes((box.left / WIDTH, 1 - box.top / plan.height - down, across, down))
        _fill(axes, panel, len(tiles.panels))
        bounded |= _boundaries(axes, panel, box.width * PIXELS, box.height * PIXELS)
        _mask(axes, tiles)
        _label(axes, tiles, panel, box)
    tall = plan.height
    _scale(figure.add_axes((MARGIN / WIDTH, 0.4 / tall, 2.9 / WIDTH, 0.11 / tall)))
    _legend(figure, tiles, tall, bounded)
    return figure


def _fill(axes: Axes, panel: Panel, panels: int) -> None:
    from matplotlib.colors import Normalize

    most = [int(n / panels**0.5) for n in (MOST_ROWS, MOST_COLUMNS)]
    step = [-(-size // n) for size, n in zip(panel.ratio.shape, most, strict=True)]
    ratio = _worst(np.nan_to_num(panel.ratio, nan=0.0, posinf=1e30), step)
    with np.errstate(divide="ignore"):
        decades = np.clip(np.log10(ratio), LOW, HIGH)
    rows, columns = panel.ratio.shape
    extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
    image = axes.imshow(
        decades, cmap=_colours(), norm=Normalize(LOW, HIGH), aspect="auto", interpolation="nearest"
    )
    image.set_extent((extent[0], extent[0] + step[1] * ratio.shape[1], step[0] * ratio.shape[0] - 0.5, -0.5))
    axes.set_xlim(extent[:2])
    axes.set_ylim(extent[2:])
    for mask, style in ((panel.not_finite, _not_finite()), (panel.unwritten, _unwritten())):
        if mask.any():
            _hatch(axes, _worst(mask, step), step, style)


def _worst(values: np.ndarray, step: list[int]) -> np.ndarray:
    """The maximum of each group of `step` rows and columns."""
    if step == [1, 1]:
        return values
    pad = [(0, -n % s) for n, s in zip(values.shape, step, strict=True)]
    padded = np.pad(values, pad, mode="edge")
    shape = (padded.shape[0] // step[0], step[0], padded.shape[1] // step[1], step[1])
    return padded.reshape(shape).max((1, 3))


def _hatch(axes: Axes, mask: np.ndarray, step: list[int], style: dict[str, Any]) -> None:
    """Cover the elements of a mask, as one path of rectangles."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    corners = []
    for top, bottom, left, right in _rectangles(mask):
        x0, x1, y0, y1 = (
            n * s - 0.5 for n, s in ((left, step[1]), (right, step[1]), (top, step[0]), (bottom, step[0]))
        )
        corners.append([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)])
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(corners)
    axes.add_patch(PathPatch(Path(np.concatenate(corners), codes), linewidth=0.0, **style))


def _rectangles(mask: np.ndarray) -> list[tuple[int, int, int, int]]:
    """The mask as (top, bottom, left, right): runs of each row, grown down while rows repeat."""
    open_runs: dict[tuple[int, int], int] = {}
    done = []
    for row in range(mask.shape[0] + 1):
        line = mask[row].astype(np.int8) if row < mask.shape[0] else np.zeros(mask.shape[1], np.int8)
        turns = np.flatnonzero(np.diff(line, prepend=0, append=0))
        runs = set(zip(turns[::2].tolist(), turns[1::2].tolist(), strict=True))
        for run in [run for run in open_runs if run not in runs]:
            done.append((open_runs.pop(run), row, *run))
        for run in runs:
            open_runs.setdefault(run, row)
    return done


def _boundaries(axes: Axes, panel: Panel, wide: float, high: float) -> bool:
    """Lines where the program that stored an element changes, dark with a light rim: seen on every colour.

    False if there are none, or too many to draw without hiding the map.
    """
    if panel.writers is None:
        return False
    from matplotlib.collections import LineCollection

    segments: list[list[tuple[float, float]]] = []
    for axis, length in ((0, high), (1, wide)):
        changes = np.diff(panel.writers, axis=axis) != 0
        most = int(changes.sum(axis=axis).max(initial=0))
        if most and length / (most + 1) >= LEAST_GAP:
            segments += _lines(changes, axis)
    for colour, thickness in (("#ffffff90", 2.4), (INK, 1.0)):
        axes.add_collection(LineCollection(segments, colors=colour, linewidths=thickness, capstyle="butt"))
    return bool(segments)


def _lines(changes: np.ndarray, axis: int) -> list[list[tuple[float, float]]]:
    """One line for each run of changes that lie side by side: across for axis 0, downwards for axis 1."""
    lines = []
    for first, last, left, right in _rectangles(changes if axis else changes.T):
        for position in range(left, right):
            ends = [(position + 0.5, first - 0.5), (position + 0.5, last - 0.5)]
            lines.append(ends if axis else [(y, x) for x, y in ends])
    return lines


def _mask(axes: Axes, tiles: TileMap) -> None:
    """The causal boundary, dashed: a staircase over queries × keys, else where queries begin to see a key."""
    causal = tiles.causal
    if causal is None:
        return
    for style in (
        {"color": "#ffffffb0", "linewidth": 2.6},
        {"color": INK, "linewidth": 1.3, "dashes": (3, 2)},
    ):
        if causal.about == "pairs":
            rows = np.arange(causal.S_q + 1) - 0.5
            ends = np.clip(np.arange(causal.S_q) + causal.offset + 0.5, -0.5, causal.S_k - 0.5)
            axes.plot(np.repeat(ends, 2), np.repeat(rows, 2)[1:-1], **style)
        elif causal.marked:
            line = axes.axvline if causal.axis else axes.axhline
            line(causal.marked - 0.5, **style)


def _label(axes: Axes, tiles: TileMap, panel: Panel, box: PanelBox) -> None:
    from matplotlib.ticker import MaxNLocator

    for number, (axis, length) in enumerate(((axes.yaxis, box.height), (axes.xaxis, box.width))):
        blocks = edges(panel, number)
        if 0 < len(blocks) < 5 * length and panel.ratio.shape[number] >= 3 * len(blocks):
            axis.set_ticks([0, *blocks.tolist()])
        else:
            most = max(1, min(6, int(3.5 * length)))
            axis.set_major_locator(MaxNLocator(most, integer=True, min_n_ticks=1, steps=[1, 2, 4, 5, 8, 10]))
    axes.tick_params(colors=GREY, labelsize=9, length=3, width=0.8)
    for spine in axes.spines.values():
        spine.set_color(GREY)
        spine.set_linewidth(0.8)
    if len(tiles.panels) > 1:
        axes.set_title(panel.title, color=GREY, fontsize=9.5, pad=3)
    if box.bottom:
        axes.set_xlabel(f"{tiles.axes[1]} (index)", color=GREY, fontsize=9.5, labelpad=2)
    if tiles.strip:
        axes.set_yticks([])
    elif box.first:
        axes.set_ylabel(f"{tiles.axes[0]} (index)", color=GREY, fontsize=9.5)
    else:
        axes.tick_params(labelleft=False)


def _scale(axes: Axes) -> None:
    axes.imshow(
        np.linspace(LOW, HIGH, 500)[None],
        cmap=_colours(),
        vmin=LOW,
        vmax=HIGH,
        aspect="auto",
        extent=(LOW, HIGH, 0, 1),
    )
    axes.set_yticks([])
    axes.set_xticks(range(-2, 4), ["≤0.01", "0.1", "1", "10", "100", "≥1000"])
    axes.tick_params(colors=GREY, labelsize=8.5, length=2, width=0.8, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("|error| / allowed (log scale; 1 is the limit)", color=GREY, fontsize=9, labelpad=2)


def _legend(figure: Figure, tiles: TileMap, tall: float, bounded: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: list[Any] = []
    if any(panel.unwritten.any() for panel in tiles.panels):
        entries.append(Patch(label="never written", **_unwritten()))
    if any(panel.not_finite.any() for panel in tiles.panels):
        entries.append(Patch(label=tiles.not_finite, **_not_finite()))
    if bounded:
        entries.append(Line2D([], [], color=GREY, linewidth=1.4, label="another program begins"))
    causal = tiles.causal
    if causal is not None and (causal.marked or causal.about == "pairs"):
        side = "left of it" if causal.axis else "above it"
        words = "edge of the causal mask" if causal.about == "pairs" else f"{side}, queries see no key"
        entries.append(Line2D([], [], color=GREY, linewidth=1.4, dashes=(3, 2), label=words))
    if entries:
        figure.legend(
            handles=entries,
            loc="upper left",
            bbox_to_anchor=((MARGIN + 3.2) / WIDTH, 0.62 / tall),
            frameon=False,
            fontsize=9,
            labelcolor=GREY,
            borderpad=0,
            labelspacing=0.35,
            handlelength=1.4,
        )


def _colours() -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    limit = -LOW / (HIGH - LOW)
    below = zip(np.linspace(0, limit, len(WITHIN)), WITHIN, strict=True)
    above = zip(np.linspace(limit, 1, len(OVER)), OVER, strict=True)
    return LinearSegmentedColormap.from_list("error over allowed", [*below, *above], N=500)


def _unwritten() -> dict[str, Any]:
    return {"facecolor": ASH, "edgecolor": "#4d4d4d", "hatch": "////"}


def _not_finite() -> dict[str, Any]:
    return {"facecolor": PURPLE, "edgecolor": "#d9c3ee", "hatch": "xxxx"}
