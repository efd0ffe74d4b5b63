"""The pictures of lesson 00: memory by length, programs over a vector, a tile in memory, masked lanes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from matplotlib.axes import Axes

from flashlearn.lessons.shared.picture_style import GREY, PALETTE, Picture, canvas, cell, colour_of
from flashlearn.lessons.shared.printed_numbers import binary
from flashlearn.lessons.shared.slider import Slider, slider


def memory_kept(
    counted: Mapping[str, Mapping[int, int]], formulas: Mapping[str, Callable[[int], int]], far: int = 65536
) -> Picture:
    """Bytes that attention keeps for its backward pass, by its length S: dots counted, lines by formula."""
    figure, (axes,) = canvas(8.4, 3.9)
    lengths = [2**e for e in range(5, 18)]
    for name, colour, side in zip(counted, (PALETTE[1], PALETTE[0]), (10, -62), strict=True):
        formula = formulas[name]
        axes.plot(lengths, [formula(S) for S in lengths], color=colour, linewidth=2.2)
        axes.scatter(list(counted[name]), list(counted[name].values()), color=colour, s=42, zorder=3)
        axes.annotate(
            f"{name}: {_whole(formula(far))} at S = {far:,}", (far, formula(far)), (-10, side),
            textcoords="offset points", ha="right", color=colour, fontsize=11, weight="bold",
        )  # fmt: skip
        axes.scatter([far], [formula(far)], color="none", edgecolor=colour, linewidth=2, s=60, zorder=3)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks([2**e for e in (5, 8, 11, 14, 17)], ["32", "256", "2048", "16,384", "131,072"])
    axes.set_yticks([2.0**e for e in (10, 20, 30)], ["1 KiB", "1 MiB", "1 GiB"])
    axes.minorticks_off()
    axes.set_xlabel("length of the text, S      (dots are counted, lines are formulas)")
    axes.set_ylabel("kept per head")
    return Picture(
        figure,
        f"At S = {far}: " + "; ".join(f"{name} keeps {_whole(f(far))}" for name, f in formulas.items()),
    )


def _whole(count: int) -> str:
    """A number of bytes without decimals: 16 GiB."""
    size, unit = binary(count).split()
    return f"{float(size):.0f} {unit}"


def programs_over_vector(n: int = 10, block: int = 4) -> Picture:
    """Which program owns which of `n` elements when each takes `block` lanes; the ragged tail is dashed."""
    programs = -(-n // block)
    lanes = programs * block
    figure, (axes,) = canvas(0.62 * max(lanes, 8) + 1.2, 0.5 * programs + 1.5)
    for i in range(n):
        cell(axes, i, 0, str(i), colour_of(i // block))
    for pid in range(programs):
        for lane in range(block):
            i = pid * block + lane
            inside = i < n
            cell(axes, i, pid + 1.5, str(lane), colour_of(pid) if inside else None, ghost=not inside)
    axes.plot([n, n], [-0.15, programs + 1.5], color=GREY, linewidth=1.2, linestyle=":")
    axes.text(n + 0.08, 0.5, f"n = {n}", color=GREY, fontsize=11, va="center")
    axes.set_xlim(-0.2, max(lanes, n + 1.4, 8) + 0.2)
    axes.set_ylim(programs + 1.7, -0.3)
    axes.set_yticks([0.5, *(pid + 2 for pid in range(programs))])
    axes.set_yticklabels(["vector", *(f"program ({pid}, 0, 0)" for pid in range(programs))])
    axes.set_xticks([pid * block + 0.5 for pid in range(programs)])
    axes.set_xticklabels([str(pid * block) for pid in range(programs)])
    axes.set_xlabel(f"element = program · {block} + lane      (a lane's number is in its square)")
    beyond = lanes - n
    return Picture(
        figure,
        f"{n} elements in blocks of {block}: {programs} program(s), {beyond} lane(s) beyond the end.",
    )


def sliding_programs() -> Slider:
    """Programs over a vector, with `n` and `block` to be moved."""
    return slider(programs_over_vector, {"n": 10, "block": 4}, n=(1, 3, 4, 8, 10, 11, 12), block=(2, 4, 8))


def sliding_strides() -> Slider:
    """A tile of a 3×6 matrix in memory, its strides to be moved: row-major, windows, gaps, transposed."""
    return slider(
        lambda strides: tile_in_memory((3, 6), (1, 2), (1, 2, 3, 4), strides),
        strides=((6, 1), (8, 1), (12, 2), (1, 3), (1, 4)),
    )


def tile_in_memory(
    shape: tuple[int, int] = (3, 6),
    rows: Sequence[int] = (1, 2),
    columns: Sequence[int] = (1, 2, 3, 4),
    strides: tuple[int, int] | None = None,
) -> Picture:
    """A tile of a matrix, and where its elements lie in memory; `strides` default to row-major."""
    n_rows, n_columns = shape
    stride_row, stride_column = strides or (n_columns, 1)
    tile = {(i, j): k for k, i in enumerate(rows) for j in columns}
    length = (n_rows - 1) * stride_row + (n_columns - 1) * stride_column + 1
    width = min(max(0.44 * length + 1.0, 6.0), 9.6)  # at most as wide as a notebook
    figure, (matrix, memory) = canvas(width, 0.44 * n_rows + 2.0, 2, height_ratios=(n_rows, 1.15))

    address = {}
    for i in range(n_rows):
        for j in range(n_columns):
            at = i * stride_row + j * stride_column
            address[at] = (i, j)
            cell(matrix, j, i, str(at), colour_of(tile[i, j]) if (i, j) in tile else None)
    _label_matrix(matrix, n_rows, n_columns)
    for at in range(length):
        where = address.get(at)
        cell(memory, at, 0, str(at), colour_of(tile[where]) if where in tile else None, ghost=where is None)
    memory.set_xlim(-0.2, length + 0.2)
    memory.set_ylim(1.05, -0.05)
    memory.set_yticks([0.5], ["memory"])
    memory.set_xticks([])
    memory.set_xlabel(f"offset from x_ptr = row · {stride_row} + column · {stride_column}      (in elements)")
    return Picture(
        figure,
        f"A {len(rows)}×{len(columns)} tile of a {n_rows}×{n_columns} matrix with strides "
        f"({stride_row}, {stride_column}), and where its elements lie in memory.",
    )


def _label_matrix(axes: Axes, n_rows: int, n_columns: int) -> None:
    """Row and column numbers beside a matrix drawn with square cells, row 0 on top."""
    axes.set_aspect("equal")
    axes.set_xlim(-0.1, n_columns + 0.1)
    axes.set_ylim(n_rows + 0.1, -0.1)
    axes.set_xticks([j + 0.5 for j in range(n_columns)], [str(j) for j in range(n_columns)])
    axes.set_yticks([i + 0.5 for i in range(n_rows)], [str(i) for i in range(n_rows)])
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("column")
    axes.set_ylabel("row")


def masked_lanes(values: Sequence[float], block: int, other: float = 0.0) -> Picture:
    """What `tl.load` puts into `block` lanes when only the first `len(values)` are under the mask."""
    n = len(values)
    figure, (axes,) = canvas(0.78 * block + 1.6, 2.5)
    for lane in range(block):
        inside = lane < n
        colour = colour_of(0) if inside else None
        cell(axes, lane, 0, str(lane))
        cell(axes, lane, 1.15, "True" if inside else "False", colour, ghost=not inside)
        cell(axes, lane, 2.3, _short(values[lane]) if inside else "·", colour, ghost=not inside)
        cell(axes, lane, 3.45, _short(values[lane] if inside else other), colour_of(0 if inside else 1))
    axes.set_xlim(-0.1, block + 0.1)
    axes.set_ylim(4.5, -0.1)
    axes.set_xticks([])
    axes.set_yticks([0.5, 1.65, 2.8, 3.95], ["lane", "mask", "memory", "loaded"])
    axes.set_xlabel(f"lane < {n} loads its element, the others get other = {_short(other)}")
    return Picture(figure, f"{block} lanes, {n} under the mask; the other {block - n} hold {_short(other)}.")


def _short(value: float) -> str:
    """A number for a small square: no needless digits, a true minus sign, ∞ as such."""
    return f"{value:g}".replace("inf", "∞").replace("-", "−")
