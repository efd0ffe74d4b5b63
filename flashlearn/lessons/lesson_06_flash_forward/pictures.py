"""The pictures of lesson 06: a program's scan, a row's state, padding, causal tiles, a folded maximum."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from flashlearn.lessons.shared.picture_style import GREY, ON_COLOUR, PALETTE, Picture, bare, canvas, cell
from flashlearn.lessons.shared.printed_numbers import number

WHOLE, CROSSED, OWN, STATE = PALETTE[2], PALETTE[0], PALETTE[1], PALETTE[3]
TABLE = ("key", "s", "m_i", "rescale", "p", "l_i", "acc")


def one_program(blocks_q: int = 4, tiles_k: int = 5, own: int = 1) -> Picture:
    """S as a grid of tiles: one program owns a row of it, keeps its block of Q and scans K and V."""
    figure, (axes,) = canvas(0.86 * tiles_k + 4.4, 0.62 * (blocks_q + 2) + 0.9)
    for i in range(blocks_q):
        mine = i == own
        cell(axes, 0, i, "q" if mine else "", OWN if mine else None)
        cell(axes, tiles_k + 2, i, "o, lse" if mine else "", STATE if mine else None)
        for t in range(tiles_k):
            cell(axes, t + 1.5, i, f"s {t}" if mine else "", CROSSED if mine else None, ghost=not mine)
    for t in range(tiles_k):
        cell(axes, t + 1.5, -1.3, f"k {t}", WHOLE)
        cell(axes, t + 1.5, blocks_q + 0.3, f"v {t}", WHOLE)
    axes.annotate(
        "", (tiles_k + 1.4, own + 0.84), (1.6, own + 0.84),
        arrowprops={"arrowstyle": "->", "color": ON_COLOUR, "linewidth": 1.2},
    )  # fmt: skip
    right = tiles_k + 3.2
    for y, text, colour in (
        (-0.8, "K and V: one tile at a time", WHOLE),
        (own - 0.05, "q: loaded once", OWN),
        (own + 0.5, "s, p: one tile at a time,", CROSSED),
        (own + 0.95, "never stored", CROSSED),
        (own + 1.5, "m_i, l_i, acc: carried along,", STATE),
        (own + 1.95, "stored at the end as o and lse", STATE),
    ):
        axes.text(right, y, text, color=colour, fontsize=10.5, va="center", weight="bold")
    axes.set_xlim(-0.2, right + 3.1)
    axes.set_ylim(blocks_q + 1.4, -1.4)
    axes.set_yticks([i + 0.5 for i in range(blocks_q)], [f"program ({i}, 0, 0)" for i in range(blocks_q)])
    axes.set_xticks([])
    axes.set_xlabel(f"program ({own}, 0, 0) goes along its rows of S, one tile of keys per step", color=GREY)
    return Picture(
        figure,
        f"S as {blocks_q} × {tiles_k} tiles: program ({own}, 0, 0) keeps block {own} of Q and scans all "
        f"{tiles_k} tiles of K and V; only one tile of S exists at a time.",
    )


def states(s: Sequence[float], v: Sequence[Sequence[float]], block: int) -> list[dict]:
    """What the program of one row holds after each tile of `block` keys, by the names of the kernel."""
    m_i, l_i, acc = -math.inf, 0.0, np.zeros(len(v[0]))
    history = []
    for start in range(0, len(s), block):
        tile = np.array(s[start : start + block], dtype=float)
        m_new = max(m_i, float(tile.max()))
        rescale, p = math.exp(m_i - m_new), np.exp(tile - m_new)
        l_i = l_i * rescale + float(p.sum())
        acc = acc * rescale + p @ np.array(v[start : start + block], dtype=float)
        m_i = m_new
        keys = range(start, start + len(tile))
        history.append(
            {"key": keys, "s": tile, "m_i": m_i, "rescale": rescale, "p": p, "l_i": l_i, "acc": acc}
        )
    return history


def online_state(s: Sequence[float], v: Sequence[Sequence[float]], block: int = 1) -> Picture:
    """The state of one row, tile by tile: scores and maximum, rescale factor, exponentials, l_i and acc."""
    history = states(s, v, block)
    o, lse = history[-1]["acc"] / history[-1]["l_i"], history[-1]["m_i"] + math.log(history[-1]["l_i"])
    start = {"m_i": -math.inf, "l_i": 0.0, "acc": np.zeros(len(v[0]))}
    columns = [("before", start)] + [(f"after tile {t}", state) for t, state in enumerate(history)]
    figure, (axes,) = canvas(1.75 * (len(columns) + 1) + 1.2, 0.5 * len(TABLE) + 1.0)
    for x, (_title, state) in enumerate(columns):
        for y, name in enumerate(TABLE):
            if name not in state:
                continue
            kept = name in ("m_i", "l_i", "acc")
            _wide_cell(
                axes, x, y, _entries(state[name]), STATE if kept else CROSSED if name in "sp" else None
            )
    x = len(columns)
    for y, text in ((5, f"LSE = {number(lse)}"), (6, f"O = ({_entries(o)})")):
        _wide_cell(axes, x, y, text, WHOLE)
    axes.set_xlim(0, len(columns) + 1)
    axes.set_ylim(len(TABLE) + 0.05, -0.05)
    axes.set_yticks([y + 0.5 for y in range(len(TABLE))], TABLE)
    axes.set_xticks([i + 0.5 for i in range(len(columns) + 1)], [title for title, _ in columns] + ["result"])
    axes.xaxis.tick_top()
    axes.set_xlabel("one row of queries; what is kept from tile to tile is m_i, l_i and acc", color=GREY)
    return Picture(
        figure,
        "; ".join(
            f"after keys {_entries(state['key'])}: m = {number(state['m_i'])}, l = {number(state['l_i'])}, "
            f"acc = {_entries(state['acc'])}"
            for state in history
        )
        + f"; O = {_entries(o)}, LSE = {number(lse)}",
    )


def _entries(value) -> str:
    values = np.atleast_1d(np.array(list(value) if isinstance(value, range) else value, dtype=float))
    return ", ".join(number(float(x)) for x in values)


def _wide_cell(axes: Axes, x: float, y: float, text: str, colour: str | None) -> None:
    axes.add_patch(
        Rectangle(
            (x + 0.03, y + 0.07),
            0.94,
            0.86,
            facecolor=colour or "none",
            edgecolor=colour or GREY,
            linewidth=1.1,
        )
    )
    ink = ON_COLOUR if colour else GREY
    axes.text(x + 0.5, y + 0.5, text, ha="center", va="center_baseline", color=ink, fontsize=10)


# ---------------------------------------------------------------- a tile with padding


def padded_tile(S_k: int, D: int, block_k: int, block_d: int, start: int = 0) -> Picture:
    """The lanes of one tile of K: those that hold numbers, and the two kinds of padding."""
    figure, (axes,) = canvas(0.42 * block_d + 3.2, 0.42 * block_k + 1.0)
    for j in range(block_k):
        for e in range(block_d):
            key_exists, column_exists = start + j < S_k, e < D
            if key_exists and column_exists:
                cell(axes, e, j, "", WHOLE)
            else:
                cell(axes, e, j, "0", ghost=True)
    axes.text(
        block_d + 0.3,
        0.5,
        f"d < D = {D}: numbers,\nzeros in the rest of the row",
        color=WHOLE,
        fontsize=10.5,
        va="center",
    )
    if start + block_k > S_k:
        text = f"keys ≥ S_k = {S_k}: rows of 0,\nwhose score must be −∞"
        axes.text(block_d + 0.3, block_k - 0.5, text, color=OWN, fontsize=10.5, va="center")
    axes.set_xlim(-0.1, block_d + 6.2)
    axes.set_ylim(block_k + 0.05, -0.05)
    axes.set_yticks([j + 0.5 for j in range(block_k)], [f"key {start + j}" for j in range(block_k)])
    axes.set_xticks([e + 0.5 for e in range(block_d)], [str(e) for e in range(block_d)])
    axes.set_xlabel(f"lane d of BLOCK_D = {block_d}", color=GREY, loc="left")
    axes.set_aspect("equal")
    real = max(0, min(S_k - start, block_k)) * D
    return Picture(
        figure,
        f"A tile of {block_k} × {block_d} lanes: {real} hold numbers, {block_k * block_d - real} padding.",
    )


# ---------------------------------------------------------------- causal tiles


def tile_kinds(S_q: int, S_k: int, block: int, align: str = "bottom-right") -> list[list[str]]:
    """For each block of queries and tile of keys: "whole", "crossed" by the diagonal, or "skipped"."""
    offset = S_k - S_q if align == "bottom-right" else 0
    kinds = []
    for first in range(0, S_q, block):
        top, bottom = (
            first + offset,
            min(first + block, S_q) - 1 + offset,
        )  # last key of its first and last query
        row = []
        for start in range(0, S_k, block):
            last = min(start + block, S_k) - 1
            row.append("whole" if last <= top else "skipped" if start > bottom else "crossed")
        kinds.append(row)
    return kinds


def causal_tiles(sizes: Sequence[tuple[int, int]], block: int = 4, align: str = "bottom-right") -> Picture:
    """Which tiles of S a causal kernel visits, one panel per (S_q, S_k): whole, crossed, or skipped."""
    widths = [S_k + 1.5 for _, S_k in sizes]
    rows = max(S_q for S_q, _ in sizes)
    width = min(max(0.235 * sum(widths) + 1.1, 8.0), 9.9)
    figure = Figure(figsize=(width, 0.235 * rows + 1.5), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(sizes), gridspec_kw={"width_ratios": widths}))
    texts = []
    for axes, (S_q, S_k) in zip(panels, sizes, strict=True):
        kinds = tile_kinds(S_q, S_k, block, align)
        _causal_panel(axes, S_q, S_k, block, align, kinds)
        flat = [kind for row in kinds for kind in row]
        texts.append(
            f"S_q = {S_q}, S_k = {S_k}: of {len(flat)} tiles {flat.count('whole')} whole, "
            f"{flat.count('crossed')} crossed, {flat.count('skipped')} skipped"
        )
    panels[0].set_ylabel("query i", color=GREY)
    for x, text, colour in (
        (0.02, "every key seen: no mask needed", WHOLE),
        (0.40, "crossed: hidden keys masked", CROSSED),
        (0.75, "skipped: never loaded", GREY),
    ):
        figure.text(x, -0.03, text, color=colour, fontsize=10, weight="bold", va="top")
    return Picture(figure, f"{align} alignment. " + "; ".join(texts) + ".")


def _causal_panel(axes: Axes, S_q: int, S_k: int, block: int, align: str, kinds: list[list[str]]) -> None:
    """One grid of keys, with tile borders: a filled square is a pair that is seen."""
    bare(axes)
    offset = S_k - S_q if align == "bottom-right" else 0
    for i in range(S_q):
        for j in range(S_k):
            kind = kinds[i // block][j // block]
            if kind == "skipped":
                continue
            seen = j <= i + offset
            box = Rectangle(
                (j + 0.12, i + 0.12), 0.76, 0.76, linewidth=0.9,
                facecolor=(WHOLE if kind == "whole" else CROSSED) if seen else "none",
                edgecolor=WHOLE if kind == "whole" else CROSSED, linestyle="-" if seen else (0, (2, 1.5)),
            )  # fmt: skip
            axes.add_patch(box)
    for first in range(0, S_q, block):
        for start in range(0, S_k, block):
            width, height = min(block, S_k - start), min(block, S_q - first)
            skipped = kinds[first // block][start // block] == "skipped"
            axes.add_patch(
                Rectangle(
                    (start, first), width, height, facecolor="none", edgecolor=GREY,
                    linewidth=0.8 if skipped else 1.4, linestyle=":" if skipped else "-",
                )
            )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_xlim(-0.2, S_k + 0.2)
    axes.set_ylim(S_q + 0.2, -0.2)
    axes.set_xticks([j + 0.5 for j in range(0, S_k, block)], [str(j) for j in range(0, S_k, block)])
    axes.set_yticks([i + 0.5 for i in range(0, S_q, block)], [str(i) for i in range(0, S_q, block)])
    axes.set_xlabel("key j")
    how = "" if S_q == S_k else f"\n{align}"
    axes.set_title(f"S_q = {S_q}, S_k = {S_k}{how}", color=GREY, fontsize=11)


# ---------------------------------------------------------------- a negative alpha


def folded_maximum(x: Sequence[float], alpha: float) -> Picture:
    """Scores s = alpha·x on a line, with their maximum and with alpha·max(x), and what exp(s − m) becomes."""
    s = alpha * np.asarray(x, dtype=float)
    right, folded = float(s.max()), float(alpha * max(x))
    figure, (axes,) = canvas(8.6, 2.3)
    axes.axhline(0, color=GREY, linewidth=1)
    axes.scatter(s, np.zeros_like(s), s=70, color=CROSSED, zorder=3)
    same = math.isclose(right, folded)
    marks = [(right, "max(alpha · x)", WHOLE, 1)] + ([] if same else [(folded, "alpha · max(x)", OWN, -1)])
    for m, text, colour, side in marks:
        largest = math.exp(min(right - m, 700.0))
        axes.plot([m, m], [0, 0.45 * side], color=colour, linewidth=2)
        words = f"m = {text} = {number(m, 1)}\nlargest exp(s − m): {largest:.3g}"
        axes.text(
            m, 0.5 * side, words, color=colour, fontsize=10.5, weight="bold",
            ha="right" if m > s.mean() else "left", va="bottom" if side > 0 else "top",
        )  # fmt: skip
    spread = float(s.max() - s.min()) or 1.0
    axes.set_xlim(s.min() - 0.06 * spread, s.max() + 0.06 * spread)
    axes.set_ylim(-1.3, 1.3)
    axes.set_yticks([])
    axes.set_xlabel("scores s = alpha · x of one row")
    return Picture(figure, f"max(alpha·x) = {number(right, 1)}, alpha·max(x) = {number(folded, 1)}.")
