"""Pictures of layouts: which thread holds which element, and in which banks of shared memory a tile lies."""

from __future__ import annotations

from functools import partial
from typing import Any

from matplotlib.patches import Rectangle

from flashlearn.lessons.lesson_13_hopper.layouts import Shape, offsets, owners, turns
from flashlearn.lessons.shared.bank_pictures import banks
from flashlearn.lessons.shared.picture_style import ON_COLOUR, Picture, canvas, colour_of

CHUNK, ROWS = 16, 8  # bytes and rows of what one access takes


def held(layout: Any, shape: Shape, part: Shape = (16, 32), mark: Shape | None = None) -> Picture:
    """The top left `part` of a tile: a colour for each warp, a lane's number in what it holds of a row.

    `mark` is the element that is outlined, and whose owner the description names.
    """
    found = owners(layout, shape)
    rows, columns = (min(size, whole) for size, whole in zip(part, shape, strict=True))
    figure, (axes,) = canvas(8.2, 0.7 + 8.2 * rows / columns * 0.94)
    for row in range(rows):
        begin = 0
        for column in range(1, columns + 1):
            if column == columns or tuple(found[row, column, :2]) != tuple(found[row, begin, :2]):
                _run(axes, row, begin, column, *found[row, begin, :2])
                begin = column
    text = f"The first {rows} rows and {columns} columns of a tile of {shape[0]} × {shape[1]} elements: "
    text += "a colour is a warp, a number the lane that holds these elements."
    if mark is not None:
        axes.add_patch(Rectangle(mark[::-1], 1, 1, fill=False, edgecolor=ON_COLOUR, linewidth=2.2))
        axes.add_patch(Rectangle(mark[::-1], 1, 1, fill=False, edgecolor="#000000", linewidth=1.0))
        warp, lane, register = found[mark]
        text += f" Element {mark} is in register {register} of lane {lane} of warp {warp}."
    axes.set(
        xlim=(-0.2, columns + 0.2), ylim=(rows + 0.2, -0.2), aspect="equal", xlabel="column", ylabel="row"
    )
    axes.set_xticks([at + 0.5 for at in range(0, columns, 8)], [str(at) for at in range(0, columns, 8)])
    axes.set_yticks([at + 0.5 for at in range(0, rows, 4)], [str(at) for at in range(0, rows, 4)])
    return Picture(figure, text)


def _run(axes: Any, row: int, begin: int, end: int, warp: int, lane: int) -> None:
    width = end - begin
    axes.add_patch(
        Rectangle((begin + 0.05, row + 0.06), width - 0.1, 0.88, facecolor=colour_of(warp), edgecolor="none")
    )
    axes.text(
        begin + width / 2,
        row + 0.5,
        str(lane),
        color=ON_COLOUR,
        fontsize=8,
        ha="center",
        va="center_baseline",
    )


def swizzles(layouts: dict[str, Any], shape: Shape, element_bytes: int = 2) -> Picture:
    """Lesson 05's picture of banks, with one square for each 16 bytes: eight rows of a tile, by layout.

    A number is the group of four banks that a square lies in.
    """
    step = CHUNK // element_bytes
    found = {name: offsets(layout, shape) * element_bytes // CHUNK for name, layout in layouts.items()}
    drawn = banks({name: partial(_chunk, at, step) for name, at in found.items()}, size=ROWS)
    text = "; ".join(
        f"{name}: {turns([int(at[row, 0]) * CHUNK for row in range(ROWS)], CHUNK)}"
        for name, at in found.items()
    )
    return Picture(drawn.figure, f"turns that reading the first 16 bytes of eight rows takes: {text}")


def _chunk(found: Any, step: int, row: int, column: int) -> int:
    return int(found[row, column * step])
