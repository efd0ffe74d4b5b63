"""Positions of a map's panels in its picture, in inches from the top left: for drawing and for tooltips."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.report.tilemap import TileMap

PIXELS = 96  # CSS pixels per inch
WIDTH, MARGIN, MAP_WIDTH, MAP_HEIGHT = 5.8, 0.62, 4.9, 2.7  # inches
ABOVE, BELOW = 0.08, 1.12  # around the panels: below come the axis' label, the scale, the legend
TITLE, ACROSS, DOWN = 0.2, 0.22, 0.3  # above a panel that has a name, between columns, below a row of panels
SIDE = 0.3  # of an element, at most


@dataclass(frozen=True)
class PanelBox:
    """One panel; `first` in its row, and at the `bottom` of its column."""

    left: float
    top: float
    width: float
    height: float
    first: bool = True
    bottom: bool = True


@dataclass(frozen=True)
class Layout:
    """All panels, and the height of the picture."""

    boxes: tuple[PanelBox, ...]
    height: float


def layout(tiles: TileMap) -> Layout:
    """Square elements where that is reasonable, and as many panels in a row as make them largest."""
    rows, columns = tiles.panels[0].ratio.shape
    count = len(tiles.panels)
    if tiles.strip:
        wide, high, across = max(min(MAP_WIDTH, SIDE * columns), 1.2), 0.34, 1
    else:
        sides = {n: _side(rows, columns, n, -(-count // n)) for n in range(1, count + 1)}
        across = max(sides, key=lambda n: (sides[n], n))
        room = (MAP_WIDTH - (across - 1) * ACROSS) / across
        wide = max(sides[across] * columns, min(1.8, 0.9 * columns, room))
        high = max(sides[across] * rows, min(0.7, 0.35 * rows))
    title = TITLE if count > 1 else 0.0
    boxes = []
    for number in range(count):
        row, column = divmod(number, across)
        left = MARGIN + column * (wide + ACROSS)
        top = ABOVE + title + row * (title + high + DOWN)
        boxes.append(PanelBox(left, top, wide, high, column == 0, number + across >= count))
    down = -(-count // across)
    return Layout(tuple(boxes), ABOVE + down * (title + high) + (down - 1) * DOWN + BELOW)


def _side(rows: int, columns: int, across: int, down: int) -> float:
    """The side of an element in inches, with this number of panels across and down."""
    height = MAP_HEIGHT if down == 1 else 1.4 * MAP_HEIGHT / down
    return min(SIDE, (MAP_WIDTH - (across - 1) * ACROSS) / across / columns, height / rows)
