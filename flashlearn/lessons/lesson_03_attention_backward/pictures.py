"""The pictures of lesson 03: both passes, where the transpose comes from, two sums for delta, a blind bar."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from flashlearn.lessons.shared.picture_style import GREY, ON_COLOUR, PALETTE, Picture, bare, canvas, cell
from flashlearn.lessons.shared.printed_numbers import number

FORWARD, BACKWARD, THIRD = PALETTE[0], PALETTE[1], PALETTE[2]
Matrix = Sequence[Sequence[float]]

PLACES = {
    "Q": (0.0, 1.0),
    "K": (0.0, 0.0),
    "S": (2.2, 0.5),
    "P": (4.6, 1.0),
    "V": (4.6, 0.0),
    "O": (6.8, 0.5),
}
SHAPES = {"Q": "S_q × D", "K": "S_k × D", "S": "S_q × S_k", "P": "S_q × S_k", "V": "S_k × D", "O": "S_q × D"}
STEPS = {  # from, to, what the forward pass does on the way, what the backward pass does on the way back
    ("Q", "S"): ("", "dQ = α dS K"),
    ("K", "S"): ("S = α Q Kᵀ", "dK = α dSᵀ Q"),
    ("S", "P"): ("P = softmax(S),\nrow by row", "dS = P ∘ (dP − delta),\nrow by row"),
    ("P", "O"): ("", "dP = dO Vᵀ"),
    ("V", "O"): ("O = P V", "dV = Pᵀ dO"),
}
HALF_WIDTH, HALF_HEIGHT = 0.48, 0.24


def passes(labelled: bool = False) -> Picture:
    """The forward pass from left to right, and under it the backward pass from right to left.

    What the backward pass computes on each arrow is what lesson 03 asks for: `labelled` shows it.
    """
    figure, (top, bottom) = canvas(9.6, 5.4, rows=2)
    for axes, colour, title in (
        (top, FORWARD, "forward: from left to right"),
        (
            bottom,
            BACKWARD,
            "backward: from right to left, each gradient has the shape of its matrix",
        ),
    ):
        back = axes is bottom
        for (start, end), (there, home) in STEPS.items():
            _arrow(axes, *((end, start) if back else (start, end)), colour)
            _label(axes, start, end, there if not back else home if labelled else "?")
        for name, (x, y) in PLACES.items():
            _box(axes, x, y, f"d{name}" if back else name, SHAPES[name], colour)
        axes.set_xlim(-0.6, 7.5)
        axes.set_ylim(-0.55, 1.5)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.set_title(title, color=GREY, fontsize=11.5, loc="left")
    text = "; ".join(home.replace("\n", " ") for _, home in STEPS.values()) if labelled else "to be found"
    return Picture(figure, f"Forward S = α Q Kᵀ, P = softmax(S), O = P V; backward {text}.")


def _box(axes: Axes, x: float, y: float, name: str, shape: str, colour: str) -> None:
    corner = (x - HALF_WIDTH, y - HALF_HEIGHT)
    axes.add_patch(
        FancyBboxPatch(
            corner, 2 * HALF_WIDTH, 2 * HALF_HEIGHT, boxstyle="round,pad=0,rounding_size=0.08",
            facecolor=colour, edgecolor="none", zorder=3,
        )
    )  # fmt: skip
    style = {"ha": "center", "va": "center", "color": ON_COLOUR, "zorder": 4}
    axes.text(x, y + 0.08, name, fontsize=13, weight="bold", **style)
    axes.text(x, y - 0.11, shape, fontsize=9.5, **style)


def _arrow(axes: Axes, start: str, end: str, colour: str) -> None:
    (x0, y0), (x1, y1) = PLACES[start], PLACES[end]
    side = HALF_WIDTH if x1 > x0 else -HALF_WIDTH
    axes.add_patch(
        FancyArrowPatch(
            (x0 + side, y0), (x1 - side, y1), arrowstyle="-|>", mutation_scale=15, color=colour, linewidth=1.8
        )
    )


def _label(axes: Axes, start: str, end: str, text: str) -> None:
    (x0, y0), (x1, y1) = PLACES[start], PLACES[end]
    x = 3.25 if start == "S" else 0.5 * (x0 + x1) + 0.1
    y = -0.02 if y0 < y1 and start != "S" else 1.06
    axes.text(x, y, text, color=GREY, fontsize=10.5, ha="center", va="center", linespacing=1.25)


def collected(p: Matrix, do: Matrix, j: int = 1, d: int = 0) -> Picture:
    """dV_jd collects column j of P against column d of dO: one term from every query."""
    p, do = np.asarray(p, dtype=float), np.asarray(do, dtype=float)
    queries, keys = p.shape
    figure = Figure(figsize=(9.4, 0.52 * queries + 1.5), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[keys, do.shape[1], do.shape[1]])
    _matrix(left, p, [(i, j) for i in range(queries)], BACKWARD, f"P: column {j}", "key", "query")
    _matrix(middle, do, [(i, d) for i in range(queries)], BACKWARD, f"dO: column {d}", "component", "query")
    dv = p.T @ do
    _matrix(right, dv, [(j, d)], THIRD, f"dV[{j}, {d}]", "component", "key", height=queries)
    terms = " + ".join(f"{number(a)}·{_bracket(b)}" for a, b in zip(p[:, j], do[:, d], strict=True))
    figure.supxlabel(f"dV[{j}, {d}] = {terms} = {number(dv[j, d])}", color=GREY, fontsize=11)
    return Picture(figure, f"dV[{j}, {d}] sums P[i, {j}] dO[i, {d}] over the queries i: {number(dv[j, d])}.")


def _bracket(value: float) -> str:
    return number(value) if value >= 0 else f"({number(value)})"


def _matrix(
    axes: Axes,
    values: np.ndarray,
    lit: list[tuple[int, int]],
    colour: str,
    title: str,
    columns: str,
    rows: str,
    height: int = 0,
) -> None:
    """A matrix of numbers, some of them in colour; `height` leaves room for more rows than it has."""
    bare(axes)
    count, width = values.shape
    height = height or count
    offset = (height - count) / 2
    for i in range(count):
        for k in range(width):
            cell(axes, k, i + offset, number(values[i, k]), colour if (i, k) in lit else None)
    axes.set_aspect("equal", adjustable="box")
    axes.set_xlim(-0.05, width + 0.1)
    axes.set_ylim(height + 0.05, -0.05)
    axes.set_xticks([k + 0.5 for k in range(width)], [str(k) for k in range(width)])
    axes.set_yticks([i + 0.5 + offset for i in range(count)], [f"{rows} {i}" for i in range(count)])
    axes.set_xlabel(columns, color=GREY)
    axes.set_title(title, color=GREY, fontsize=11.5)


def two_sums(p_row: Sequence[float], do_row: Sequence[float], v: Matrix) -> Picture:
    """All terms P_ij dO_id V_jd of one query, with their sums by rows, by columns, and in all."""
    p_row, do_row, v = (np.asarray(x, dtype=float) for x in (p_row, do_row, v))
    terms = p_row[:, None] * do_row[None, :] * v  # (S_k, D)
    keys, width = terms.shape
    figure, (axes,) = canvas(7.8, 0.62 * (keys + 1) + 1.2)
    for j in range(keys):
        for d in range(width):
            cell(axes, 1.45 * d, j, "", None)
            axes.text(1.45 * d + 0.5, j + 0.5, number(terms[j, d]), color=GREY, ha="center", va="center")
        _total(axes, 1.45 * width + 0.5, j, terms[j].sum(), FORWARD)
    for d in range(width):
        _total(axes, 1.45 * d, keys + 0.35, terms[:, d].sum(), BACKWARD)
    _total(axes, 1.45 * width + 0.5, keys + 0.35, terms.sum(), THIRD)
    edge = 1.45 * width + 1.65
    axes.text(edge, keys / 2, "by rows: first over d\nP_ij dP_ij", color=FORWARD, va="center", fontsize=11)
    axes.text(edge, keys + 0.85, "either way: delta_i", color=THIRD, va="center", fontsize=11)
    axes.set_xlim(-2.6, edge + 2.6)
    axes.set_ylim(keys + 1.4, -0.6)
    axes.text(-0.2, keys + 0.85, "by columns: first over j\n(exercise 2)", color=BACKWARD, va="center",
              ha="right", fontsize=11)  # fmt: skip
    axes.set_yticks([])
    axes.set_xticks([])
    for j in range(keys):
        axes.text(-0.2, j + 0.5, f"key {j}", color=GREY, va="center", ha="right", fontsize=10.5)
    for d in range(width):
        axes.text(1.45 * d + 0.5, -0.25, f"d = {d}", color=GREY, ha="center", fontsize=10.5)
    by_row = ", ".join(number(x) for x in terms.sum(axis=1))
    by_column = ", ".join(number(x) for x in terms.sum(axis=0))
    return Picture(
        figure,
        f"One query's terms: rows sum to {by_row}, columns to {by_column}, all to {number(terms.sum())}.",
    )


def _total(axes: Axes, x: float, y: float, value: float, colour: str) -> None:
    cell(axes, x, y, number(value), colour)


def blind_bar(
    scales: Sequence[float], errors: Sequence[float], sizes: Sequence[float], bar: float
) -> Picture:
    """What a forgotten delta does to dQ, by the size of the test's values, and an absolute tolerance."""
    figure, (axes,) = canvas(8.2, 3.9)
    for label, values, colour, offset in (
        ("largest entry of dQ", sizes, FORWARD, (-10, 10)),
        ("its largest error\nwithout delta", errors, BACKWARD, (10, -30)),
    ):
        axes.plot(scales, values, color=colour, linewidth=2.4, marker="o", markersize=5)
        middle = len(scales) // 2
        axes.annotate(
            label, (scales[middle], values[middle]), offset, textcoords="offset points", color=colour,
            fontsize=11, weight="bold", ha="right" if offset[0] < 0 else "left",
        )  # fmt: skip
    axes.axhline(bar, color=GREY, linewidth=1.3, linestyle="--")
    axes.text(scales[-1], bar * 1.25, f"the tolerance: {bar:g}", color=GREY, fontsize=10.5, ha="right")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(list(scales), [f"±{x:g}" for x in scales])
    axes.minorticks_off()
    axes.set_xlabel("the test's values are uniform in")
    axes.set_ylabel("absolute size, in units of dQ")
    hidden = [f"±{x:g}" for x, error in zip(scales, errors, strict=True) if error < bar]
    text = f"A tolerance of {bar:g} does not show that delta is missing for values in {', '.join(hidden)}."
    return Picture(figure, text)
