"""The pictures of lesson 01: two Jacobians of a product, their size, the five rules, a walk down columns."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from flashlearn.lessons.shared.picture_style import GREY, ON_COLOUR, PALETTE, Picture, canvas, cell, colour_of

Box = tuple[int, int, str, str]  # rows, columns, label, colour

IN, WEIGHT, OUT = PALETTE[0], PALETTE[2], PALETTE[1]  # X-like, W-like and Y-like matrices


def product_jacobian(M: int = 2, K: int = 3, N: int = 4, by: str = "X", labels: bool = True) -> Picture:
    """∂ vec(X W) / ∂ vec(X or W), vec row by row: each entry that is not zero, coloured by the row of Y."""
    outputs = [(i, j) for i in range(M) for j in range(N)]
    inputs = [(a, b) for a in range(M if by == "X" else K) for b in range(K if by == "X" else N)]
    figure, (axes,) = canvas(0.56 * len(inputs) + 1.5, 0.42 * len(outputs) + 1.0)
    filled = 0
    for y, (i, j) in enumerate(outputs):
        for x, (a, b) in enumerate(inputs):
            text = _product_entry(i, j, a, b, by)
            filled += bool(text)
            if text:
                cell(axes, x, y, text if labels else "", colour_of(i))
            else:
                axes.text(x + 0.5, y + 0.5, "0", color=GREY, fontsize=10, ha="center", va="center_baseline")
    for x in range(0, len(inputs) + 1, K if by == "X" else N):  # between the rows of X or W
        axes.plot([x, x], [-0.1, len(outputs) + 0.1], color=GREY, linewidth=1.4)
    for y in range(0, len(outputs) + 1, N):
        axes.plot([0, len(inputs)], [y, y], color=GREY, linewidth=1.4)
    axes.set_xlim(-0.1, len(inputs) + 0.1)
    axes.set_ylim(len(outputs) + 0.1, -0.1)
    axes.set_xticks([x + 0.5 for x in range(len(inputs))], [f"{by}{a}{b}" for a, b in inputs])
    axes.set_yticks([y + 0.5 for y in range(len(outputs))], [f"Y{i}{j}" for i, j in outputs])
    axes.xaxis.tick_top()
    axes.set_xlabel(f"column: the input that moves, {by} row by row", labelpad=8)
    axes.set_ylabel("row: the output, Y row by row")
    shape = f"{len(outputs)} × {len(inputs)}"
    return Picture(
        figure, f"∂Y/∂{by} is {shape}; {filled} of its {len(outputs) * len(inputs)} entries are not zero."
    )


def _product_entry(i: int, j: int, a: int, b: int, by: str) -> str:
    """∂Y_ij/∂X_ab or ∂Y_ij/∂W_ab as text; nothing where it is zero."""
    if by == "X":
        return f"W{b}{j}" if i == a else ""
    return f"X{i}{a}" if j == b else ""


UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def in_words(count: float) -> str:
    """A number of bytes with the largest unit that leaves at least 1: 64 MiB."""
    unit = 0
    while count >= 1024 and unit < len(UNITS) - 1:
        count, unit = count / 1024, unit + 1
    return (
        f"{count:.0f} {UNITS[unit]}" if count >= 10 or count == int(count) else f"{count:.1f} {UNITS[unit]}"
    )


def sizes(M: int, K: int, N: int, size: int = 2) -> Picture:
    """Bytes of both Jacobians of X W, and of the matrices that take their place, on a logarithmic axis."""
    bars = {
        "∂Y/∂X": (M * N * M * K * size, OUT),
        "∂Y/∂W": (M * N * K * N * size, OUT),
        "X": (M * K * size, IN),
        "W": (K * N * size, WEIGHT),
    }
    figure, (axes,) = canvas(8.6, 3.0)
    for y, (_, (count, colour)) in enumerate(bars.items()):
        axes.barh(y, count, left=1, color=colour, height=0.66)
        axes.annotate(
            in_words(count), (count, y), (6, 0), textcoords="offset points", color=GREY,
            va="center", fontsize=11,
        )  # fmt: skip
    axes.plot([80 * 2**30] * 2, [-0.5, len(bars) - 0.5], color=GREY, linewidth=1.2, linestyle="--")
    axes.text(80 * 2**30, -0.62, "an 80 GiB GPU", color=GREY, fontsize=10, ha="center")
    axes.set_xscale("log")
    axes.set_xlim(1, max(count for count, _ in bars.values()) * 300)
    axes.set_ylim(len(bars) - 0.5, -1.1)
    axes.set_yticks(range(len(bars)), list(bars))
    axes.set_xticks([1024**k for k in range(6)], UNITS[:6])
    axes.minorticks_off()
    axes.set_xlabel(f"bytes (logarithmic) for Y = X W, {M}×{K} · {K}×{N}, {size} bytes per number")
    return Picture(figure, "; ".join(f"{name} {in_words(count)}" for name, (count, _) in bars.items()))


def _product_rule() -> tuple[Sequence, Sequence]:
    M, K, N = 4, 2, 3
    forward = [(M, K, "X", IN), "·", (K, N, "W", WEIGHT), "=", (M, N, "Y", OUT)]
    backward = [
        (M, N, "dY", OUT), "·", (N, K, "Wᵀ", WEIGHT), "=", (M, K, "dX", IN), "  ",
        (K, M, "Xᵀ", IN), "·", (M, N, "dY", OUT), "=", (K, N, "dW", WEIGHT),
    ]  # fmt: skip
    return forward, backward


RULES: tuple[tuple[str, Sequence, Sequence], ...] = (
    ("product", *_product_rule()),
    (
        "element-wise\nproduct",
        [(4, 3, "A", IN), "∘", (4, 3, "B", WEIGHT), "=", (4, 3, "C", OUT)],
        [(4, 3, "dC", OUT), "∘", (4, 3, "B", WEIGHT), "=", (4, 3, "dA", IN), "  ",
         (4, 3, "A", IN), "∘", (4, 3, "dC", OUT), "=", (4, 3, "dB", WEIGHT)],
    ),
    (
        "scaling",
        ["α", (4, 3, "A", IN), "=", (4, 3, "C", OUT)],
        ["α", (4, 3, "dC", OUT), "=", (4, 3, "dA", IN)],
    ),
    (
        "reduction",
        ["Σⱼ", (4, 3, "A", IN), "=", (4, 1, "s", OUT)],
        [(4, 1, "ds", OUT), "to every column:", (4, 3, "dA", IN)],
    ),
    (
        "broadcast",
        [(1, 3, "b", IN), "to every row:", (4, 3, "C", OUT)],
        ["Σᵢ", (4, 3, "dC", OUT), "=", (1, 3, "db", IN)],
    ),
)  # fmt: skip


def five_rules() -> Picture:
    """Each rule as shapes: what goes forward on the left, what comes back on the right."""
    figure, (axes,) = canvas(9.9, 6.6)
    step = 5.0
    for number, (name, forward, backward) in enumerate(RULES):
        middle = number * step + 2.6
        axes.text(-0.3, middle, name, color=GREY, fontsize=11.5, weight="bold", va="center", ha="right")
        _expression(axes, 0.4, middle, forward)
        _expression(axes, 16.0, middle, backward)
        if number:
            axes.plot([-6.2, 40.6], [number * step] * 2, color=GREY, linewidth=0.6)
    axes.text(0.4, -0.55, "forward", color=GREY, fontsize=11.5)
    axes.text(16.0, -0.55, "backward", color=GREY, fontsize=11.5)
    axes.set_xlim(-6.4, 40.8)
    axes.set_ylim(len(RULES) * step + 0.2, -1.2)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel(
        "a matrix is drawn with its shape: M = 4, K = 2, N = 3; a gradient has its matrix's colour"
    )
    return Picture(
        figure,
        "Backward: a product is multiplied by the other factor transposed, an element-wise product by the "
        "other factor, a scaling by the same number; a reduction becomes a broadcast, a broadcast a sum.",
    )


def _expression(axes: Axes, x: float, middle: float, tokens: Sequence[str | Box]) -> None:
    """Boxes and signs in a line, from x on, centred at `middle`."""
    for token in tokens:
        if isinstance(token, str):
            width = {1: 1.0, 2: 1.4}.get(len(token), 0.5 * len(token))
            axes.text(x + width / 2, middle, token, color=GREY, fontsize=12, ha="center", va="center")
            x += width
            continue
        rows, columns, label, colour = token
        box = Rectangle((x + 0.1, middle - rows / 2), columns, rows, facecolor=colour, edgecolor="none")
        axes.add_patch(box)
        axes.text(
            x + 0.1 + columns / 2, middle, label, color=ON_COLOUR, fontsize=10.5, weight="bold",
            ha="center", va="center",
        )  # fmt: skip
        x += columns + 0.2


def column_walk(M: int = 10, N: int = 7, block_m: int = 4, block_n: int = 4) -> Picture:
    """Who adds up what: a program's columns in its colour, in each square the iteration of its loop."""
    programs, turns = -(-N // block_n), -(-M // block_m)
    figure, (axes,) = canvas(0.62 * programs * block_n + 2.2, 0.42 * (turns * block_m + 2) + 1.0)
    for i in range(turns * block_m):
        for j in range(programs * block_n):
            inside = i < M and j < N
            text = str(i // block_m) if inside else ""
            cell(axes, j, i, text, colour_of(j // block_n) if inside else None, ghost=not inside)
    bottom = turns * block_m + 0.8
    for j in range(N):
        cell(axes, j, bottom, "Σ", colour_of(j // block_n))
    for turn in range(1, turns):
        axes.plot([-0.1, programs * block_n + 0.1], [turn * block_m] * 2, color=GREY, linewidth=1.2)
    axes.set_xlim(-0.2, programs * block_n + 0.2)
    axes.set_ylim(bottom + 1.2, -0.2)
    axes.set_yticks(
        [0.5, M - 0.5, bottom + 0.5], ["row 0", f"row {M - 1}", "db"]
    )  # fmt: skip
    middles = [p * block_n + block_n / 2 for p in range(programs)]
    axes.set_xticks(middles, [f"program ({p}, 0, 0)" for p in range(programs)])
    axes.xaxis.tick_top()
    axes.set_xlabel(
        f"dY, {M}×{N}, in tiles of {block_m}×{block_n}; numbers count the loop's iterations", labelpad=8
    )
    padding = turns * block_m * programs * block_n - M * N
    return Picture(
        figure,
        f"{programs} programs go down in {turns} iterations each; {padding} lanes lie outside the matrix.",
    )
