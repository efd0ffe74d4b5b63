"""The pictures of lesson 02: the Jacobian as a heat map, competition, the VJP as deviations, cost, lanes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from flashlearn.lessons.shared.picture_style import GREY, ON_COLOUR, PALETTE, Picture, bare, canvas, cell
from flashlearn.lessons.shared.printed_numbers import binary, number
from flashlearn.lessons.shared.slider import Slider, slider

UP, DOWN = PALETTE[0], PALETTE[1]  # positive and negative, everywhere in this lesson
FLOAT_RANGES = {  # half the smallest positive number (less is rounded to 0), and the largest finite one
    "fp16": (2.0**-25, 65504.0),
    "bf16": (2.0**-134, 2.0**128 * (1 - 2.0**-8)),
    "fp32": (2.0**-150, 2.0**128 * (1 - 2.0**-24)),
}


def shares(s: Sequence[float], temperature: float = 1.0, shift: float = 0.0) -> Picture:
    """A row of scores, divided by a temperature and shifted, and the shares that softmax makes of it."""
    scores = np.asarray(s, dtype=float) / temperature + shift
    p = np.exp(scores - scores.max())
    p /= p.sum()
    figure = Figure(figsize=(8.6, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        bare(axes)
        axes.set_xticks(range(len(p)), [str(k) for k in range(len(p))])
        axes.set_xlim(-0.6, len(p) - 0.4)
        axes.set_yticks([])
        axes.set_xlabel("key k", color=GREY)
    left.axhline(0, color=GREY, linewidth=1)
    for k, value in enumerate(scores):
        left.plot([k, k], [0, value], color=PALETTE[2], linewidth=3)
        left.scatter([k], [value], s=40, color=PALETTE[2], zorder=3)
        _beside(left, k, float(value), digits=2)
    reach = 1.3 * max(float(np.abs(scores).max()), 0.1)
    left.set_ylim(min(-0.2 * reach, 1.3 * scores.min()), max(0.2 * reach, 1.3 * scores.max()))
    left.set_title("s / T + c", color=GREY, fontsize=12)
    right.bar(range(len(p)), p, width=0.62, color=UP)
    for k, value in enumerate(p):
        _beside(right, k, float(value), digits=3)
    right.set_ylim(0, 1.15)
    right.set_title("p = softmax(s / T + c)", color=GREY, fontsize=12)
    shares = ", ".join(number(float(v), 3) for v in p)
    return Picture(figure, f"T = {number(temperature, 2)}, c = {number(shift, 0)}: the shares are {shares}.")


def sliding_softmax(s: Sequence[float]) -> Slider:
    """The shares of one row of scores, with the temperature T and the shift c to be moved."""
    return slider(
        lambda T, c: shares(s, T, c), {"T": 1, "c": 0}, T=(0.1, 0.25, 0.5, 1, 2, 5, 20), c=(-10, 0, 5)
    )


def _beside(axes: Axes, x: float, y: float, digits: int) -> None:
    """A value at the end of its bar."""
    text = number(y, digits)
    axes.annotate(
        "≈ 0" if y and text == "0" else text, (x, y), (0, 5 if y >= 0 else -5),
        textcoords="offset points", ha="center", va="bottom" if y >= 0 else "top", color=GREY, fontsize=10,
    )  # fmt: skip


def exponential_range(formats: Sequence[str] = ("fp16", "bf16", "fp32")) -> Picture:
    """For which x exp(x) is a positive finite number, per floating-point format."""
    figure, (axes,) = canvas(8.2, 0.5 * len(formats) + 1.5)
    ends = {name: tuple(map(math.log, FLOAT_RANGES[name])) for name in formats}
    for y, (name, (low, high)) in enumerate(ends.items()):
        axes.add_patch(Rectangle((low, y - 0.36), high - low, 0.72, facecolor=PALETTE[2], edgecolor="none"))
        middle = 0.5 * (low + high)
        axes.text(middle, y, name, color=ON_COLOUR, weight="bold", ha="center", va="center", fontsize=11)
        axes.text(high + 2, y, f"∞ beyond {high:.1f}", color=GREY, va="center", fontsize=10.5)
        axes.text(low - 2, y, f"0 below {number(low, 1)}", color=GREY, ha="right", va="center", fontsize=10.5)
    axes.axvline(0, color=GREY, linewidth=1, linestyle=":")
    axes.set_xlim(min(low for low, _ in ends.values()) - 45, max(high for _, high in ends.values()) + 45)
    axes.set_ylim(len(formats) - 0.4, -0.6)
    axes.set_yticks([])
    axes.set_xticks([-100, -50, 0, 50, 100], ["−100", "−50", "0", "50", "100"])
    axes.set_xlabel("x: where exp(x) is a positive, finite number")
    return Picture(
        figure, "; ".join(f"exp(x) in {name}: {low:.1f} to {high:.1f}" for name, (low, high) in ends.items())
    )


def jacobian(p: Sequence[float], digits: int = 3) -> Picture:
    """diag(p) − p pᵀ = J, three heat maps on one scale with the values in their cells."""
    p = np.asarray(p, dtype=float)
    diagonal, outer = np.diag(p), -np.outer(p, p)
    figure = Figure(figsize=(1.05 * 3 * len(p) + 2.2, 0.9 * len(p) + 1.1), layout="constrained")
    panels = figure.subplots(1, 3)
    largest = float(p.max())
    for axes, matrix, title in zip(
        panels, (diagonal, outer, diagonal + outer), ("diag(p)", "−p pᵀ", "J"), strict=True
    ):
        _heat_map(axes, matrix, largest, digits)
        axes.set_title(title, color=GREY, fontsize=12, pad=8)
        axes.set_xlabel("score j", color=GREY)
    panels[0].set_ylabel("share k", color=GREY)
    for axes, sign in zip(panels[1:], ("+", "="), strict=True):
        axes.text(-0.42, len(p) / 2, sign, color=GREY, fontsize=18, ha="center", va="center")
    return Picture(
        figure,
        f"diag(p) holds p on its diagonal, −p pᵀ is negative everywhere; their sum J is {matrix_text(p)}.",
    )


def matrix_text(p: np.ndarray) -> str:
    """J in words, row by row."""
    rows = np.diag(p) - np.outer(p, p)
    return "; ".join(" ".join(number(v, 3) for v in row) for row in rows)


def _heat_map(axes: Axes, matrix: np.ndarray, largest: float, digits: int) -> None:
    """A matrix as coloured squares: blue above zero, orange below, an empty square for zero."""
    rows, columns = matrix.shape
    bare(axes)
    for k in range(rows):
        for j in range(columns):
            value = float(matrix[k, j])
            cell(axes, j, k, number(value, digits) if value else "0", _shade(value / largest))
    axes.set_aspect("equal")
    axes.set_xlim(-0.75, columns + 0.05)
    axes.set_ylim(rows + 0.05, -0.05)
    axes.set_xticks([j + 0.5 for j in range(columns)], [str(j) for j in range(columns)])
    axes.set_yticks([k + 0.5 for k in range(rows)], [str(k) for k in range(rows)])


def _shade(strength: float) -> str | None:
    """From grey (nearly nothing) to a full colour, dark enough at every step for white digits."""
    if strength == 0:
        return None
    full, faint = np.array(to_rgb(UP if strength > 0 else DOWN)), np.array(to_rgb("#858585"))
    mixed = faint + (full - faint) * min(abs(strength), 1.0) ** 0.5
    return "#" + "".join(f"{round(255 * c):02x}" for c in mixed)


def competition(p: Sequence[float], j: int) -> Picture:
    """What raising score j by a little does to each probability: diag(p) gives, −p pᵀ takes, together."""
    p = np.asarray(p, dtype=float)
    n = len(p)
    own, others = np.eye(n)[j] * p, -p * p[j]
    figure = Figure(figsize=(9.4, 2.7), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    titles = (
        f"diag(p): only p_{j} gains", "−p pᵀ: all lose in proportion", "together: the total stays 1"
    )  # fmt: skip
    for axes, change, title in zip(panels, (own, others, own + others), titles, strict=True):
        _signed_bars(axes, change, [f"p_{k}" for k in range(n)])
        axes.set_title(title, color=GREY, fontsize=11.5)
        total = change.sum() if abs(change.sum()) > 1e-12 else 0.0
        axes.set_xlabel(f"sum {number(total, 3)}", color=GREY)
    panels[0].set_ylim(-1.9 * p[j] * p.max(), 1.3 * p[j])
    panels[0].set_ylabel(f"change per unit of s_{j}", color=GREY)
    return Picture(
        figure,
        f"Raising s_{j}: changes of p are {', '.join(number(v, 3) for v in own + others)}, which sum to 0.",
    )


def _signed_bars(axes: Axes, values: np.ndarray, labels: Sequence[str], digits: int = 3) -> None:
    """Bars up in blue and down in orange, each with its value at its end."""
    bare(axes)
    reach = float(np.abs(values).max()) or 1.0
    axes.bar(range(len(values)), values, width=0.62, color=[UP if v >= 0 else DOWN for v in values])
    axes.axhline(0, color=GREY, linewidth=1)
    for k, value in enumerate(values):
        above = value >= 0
        axes.annotate(
            number(float(value), digits) if value else "0", (k, value), (0, 4 if above else -4),
            textcoords="offset points", ha="center", va="bottom" if above else "top", color=GREY, fontsize=10,
        )  # fmt: skip
    axes.set_xticks(range(len(values)), labels)
    axes.margins(y=0.22)
    axes.set_yticks([])
    axes.set_xlim(-0.6, len(values) - 0.4)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, -0.12 * reach), max(high, 0.12 * reach))


def deviations(p: Sequence[float], dp: Sequence[float]) -> Picture:
    """Left: dp against its mean under p. Right: ds, each deviation from that mean scaled by p."""
    p, dp = np.asarray(p, dtype=float), np.asarray(dp, dtype=float)
    mean = float(p @ dp)
    ds = p * (dp - mean)
    figure = Figure(figsize=(9.4, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    bare(left)
    for k, value in enumerate(dp):
        colour = UP if value >= mean else DOWN
        left.plot([k, k], [mean, value], color=colour, linewidth=3, solid_capstyle="butt")
        left.scatter([k], [value], s=900 * p[k] + 25, color=colour, zorder=3)
        left.annotate(
            f"dp_{k} = {number(value)}", (k, value), (17, 0), textcoords="offset points",
            va="center", color=GREY, fontsize=10,
        )  # fmt: skip
    left.axhline(mean, color=GREY, linewidth=1.2, linestyle="--")
    left.annotate(
        f"mean under p = {number(mean, 3)}", (len(p) - 0.75, mean), (0, -14),
        textcoords="offset points", color=GREY, fontsize=10,
    )  # fmt: skip
    left.set_xlim(-0.6, len(p) + 0.1)
    left.margins(y=0.2)
    left.set_xticks(range(len(p)), [f"p_{k} = {number(v, 3)}" for k, v in enumerate(p)])
    left.set_yticks([])
    left.set_title("dp and its mean under p (a dot's area is its p)", color=GREY, fontsize=11.5)
    _signed_bars(right, ds, [f"ds_{k}" for k in range(len(p))])
    right.set_title("ds = p · (dp − mean)", color=GREY, fontsize=11.5)
    total = ds.sum() if abs(ds.sum()) > 1e-12 else 0.0
    right.set_xlabel(f"sum {number(total, 3)}", color=GREY)
    return Picture(figure, f"mean {number(mean, 3)}; ds = {', '.join(number(v, 3) for v in ds)}")


def bytes_per_row(n: int = 4096, size: int = 4) -> Picture:
    """Bytes that one row's Jacobian takes, against the three rows of the VJP, over the row's length."""
    lengths = np.array([2.0**e for e in range(5, 15)])
    figure, (axes,) = canvas(8.2, 3.9)
    for label, power, count, colour, place in (
        ("J: N² numbers", 2, 1, DOWN, {"xytext": (-12, 8), "ha": "right"}),
        ("p, dp, ds: 3N numbers", 1, 3, UP, {"xytext": (8, -34), "ha": "left"}),
    ):
        at_n = size * count * n**power
        axes.plot(lengths, size * count * lengths**power, color=colour, linewidth=2.4)
        axes.scatter([n], [at_n], color=colour, s=44, zorder=3)
        text = f"{label}\n{binary(at_n)} at N = {n}"
        axes.annotate(
            text, (n, at_n), textcoords="offset points", color=colour, fontsize=11, weight="bold", **place
        )
    shared, l2 = 228 * 2**10, 50 * 10**6
    for level, label, x, side in (
        (shared, "shared memory of an H100's SM, 228 KiB", lengths[-1], "right"),
        (l2, "L2 cache of an H100, 50 MB", lengths[0], "left"),
    ):
        axes.axhline(level, color=GREY, linewidth=1, linestyle=":")
        axes.text(x, level * 1.25, label, color=GREY, fontsize=10, ha=side)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks([2.0**e for e in range(5, 15, 3)], [str(2**e) for e in range(5, 15, 3)])
    axes.set_yticks([2.0**e for e in (10, 20, 30)], ["1 KiB", "1 MiB", "1 GiB"])
    axes.minorticks_off()
    axes.set_xlabel("length of the row, N")
    axes.set_ylabel(f"bytes per row, {size} per number")
    return Picture(
        figure,
        f"At N = {n} a row's Jacobian takes {binary(size * n * n)}, the three rows that replace it "
        f"{binary(3 * size * n)}.",
    )


def forward_lanes(s: Sequence[float], block: int, other: float = -math.inf) -> Picture:
    """The values that each lane of one program holds, line by line of the softmax kernel."""
    n = len(s)
    lanes = np.array([*s, *[other] * (block - n)], dtype=float)
    m = lanes.max()
    e = np.exp(lanes - m)
    total = e.sum()
    steps = (
        (f"s = load(…, other={_plain(other)})", lanes, ""),
        ("s − m_i", lanes - m, f"m_i = max = {number(m, 3)}"),
        ("e = exp(s − m_i)", e, ""),
        ("p = e / l_i", e / total, f"l_i = sum = {number(total, 3)}"),
        ("store under the mask", np.where(np.arange(block) < n, e / total, np.nan), ""),
    )
    figure, (axes,) = canvas(1.0 * block + 4.6, 0.52 * len(steps) + 0.9)
    for y, (_, values, _note) in enumerate(steps):
        for lane, value in enumerate(values):
            idle = lane >= n and (
                e[lane] == 0 or math.isnan(value)
            )  # padding that adds nothing, or is not stored
            colour = None if idle else PALETTE[2] if lane < n else DOWN
            text = "" if math.isnan(value) else number(value, 3)
            cell(axes, lane, y, text, colour, ghost=idle)
    for y, (_, _, note) in enumerate(steps):
        axes.text(block + 0.15, y + 0.5, note, color=GREY, fontsize=10.5, va="center")
    axes.set_xlim(-0.1, block + 1.9)
    axes.set_ylim(len(steps) + 0.05, -0.05)
    axes.set_yticks([y + 0.5 for y in range(len(steps))], [name for name, _, _ in steps])
    axes.set_xticks([lane + 0.5 for lane in range(block)], [_lane(lane, n) for lane in range(block)])
    axes.xaxis.tick_top()
    stored = (e / total)[:n].sum()
    axes.set_xlabel(f"what is stored sums to {number(stored, 3)}", labelpad=8)
    return Picture(
        figure, f"Padding of {_plain(other)}: what the {n} lanes store sums to {number(stored, 3)}."
    )


def _lane(lane: int, n: int) -> str:
    return f"lane {lane}" if lane < n else f"lane {lane}\npadding"


def _plain(value: float) -> str:
    return "-inf" if value == -math.inf else f"{value:g}"
