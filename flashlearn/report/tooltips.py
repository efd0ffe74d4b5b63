"""The picture's tooltips: a transparent `<span title>` over each group of elements.

This needs no script. JupyterLab keeps titles and inline positions in untrusted notebooks (it removes the
names that `<map>` would need). Where a renderer drops the positions (GitHub), the empty spans take no room,
and the picture is still there.
"""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.later import numpy as np
from flashlearn.report.layout import PIXELS, PanelBox, layout
from flashlearn.report.tilemap import Panel, TileMap, groups
from flashlearn.report.units import number, times

MARKUP = 95  # bytes of a span without its title
MAX_BYTES = 16_000  # of all areas together: a saved notebook has many cards
CELLS = (900, 500, 280, 150, 80, 40, 20, 8)  # over all panels; the first number that fits is used


@dataclass(frozen=True)
class Area:
    """A rectangle of the picture (left, top, width, height in CSS pixels) and its tooltip."""

    box: tuple[int, int, int, int]
    title: str


def areas(tiles: TileMap) -> tuple[Area, ...]:
    """Groups of elements, each with its range and its worst element; right neighbours joined."""
    for cells in CELLS:
        found = _areas(tiles, cells)
        if sum(len(area.title.encode()) + MARKUP for area in found) <= MAX_BYTES:
            return found
    return found


def _areas(tiles: TileMap, cells: int) -> tuple[Area, ...]:
    found = []
    for panel, box in zip(tiles.panels, layout(tiles).boxes, strict=True):
        for rows, columns in _cells(tiles, panel, box, max(cells // len(tiles.panels), 1)):
            found.append(Area(_box(panel, box, rows, columns), _title(tiles, panel, rows, columns)))
    return tuple(found)


def _cells(tiles: TileMap, panel: Panel, box: PanelBox, most: int) -> list[tuple[slice, slice]]:
    """Roughly square groups of elements; right neighbours in a row are one group."""
    high, wide = panel.ratio.shape
    down = min(high, max(1, round((most * box.height / box.width) ** 0.5)))
    across = min(wide, max(1, most // down))
    down = min(high, max(1, most // across))
    mark = tiles.causal
    cut = [mark.marked if mark and mark.axis == axis else 0 for axis in (0, 1)]
    rows, columns = (groups(panel, axis, n, cut[axis], 1)[0] for axis, n in ((0, down), (1, across)))
    found = []
    for top, bottom in rows:
        right = None
        for first, last in columns:
            fine = bool(panel.badness[top:bottom, first:last].max() <= 1)
            if fine and right is not None and first not in cut:
                found[-1] = (slice(top, bottom), slice(right, last))
            else:
                found.append((slice(top, bottom), slice(first, last)))
                right = first if fine else None
            right = right if fine else None
    return found


def _box(panel: Panel, box: PanelBox, rows: slice, columns: slice) -> tuple[int, int, int, int]:
    """Rounded edges, so that neighbours neither overlap nor leave a gap."""
    high, wide = panel.ratio.shape
    left, right = (round(PIXELS * (box.left + box.width * at / wide)) for at in (columns.start, columns.stop))
    top, bottom = (round(PIXELS * (box.top + box.height * at / high)) for at in (rows.start, rows.stop))
    return left, top, right - left, bottom - top


def _title(tiles: TileMap, panel: Panel, rows: slice, columns: slice) -> str:
    part = panel.badness[rows, columns]
    row, column = np.unravel_index(int(part.argmax()), part.shape)
    row, column = int(row) + rows.start, int(column) + columns.start
    several = part.size > 1
    first, last = panel.index(rows.start, columns.start), panel.index(rows.stop - 1, columns.stop - 1)
    spans = [str(a) if a == b else f"{a}–{b}" for a, b in zip(first, last, strict=True)]
    lines = [f"{tiles.output}[{', '.join(spans)}]"]
    if several:
        word = "all right, the closest" if part.max() <= 1 else "worst"
        lines[0] += f", {word} at {panel.index(row, column)}:"
    lines += element_lines(tiles, panel, row, column)
    if tiles.causal is not None and (seen := _seen(tiles, rows, columns)):
        lines.append(seen)
    return "\n".join(lines)


def element_lines(tiles: TileMap, panel: Panel, row: int, column: int) -> list[str]:
    """Got and expected, error and allowed, and who stored it."""
    got, expected = float(panel.got[row, column]), float(panel.expected[row, column])
    lines = [f"got {number(got, 4)}, expected {number(expected, 4)}"]
    ratio = float(panel.ratio[row, column])
    if np.isfinite(ratio):
        lines.append(f"error {number(abs(got - expected))}, {times(ratio)} × allowed {number(tiles.allowed)}")
    if panel.writers is not None:
        writer = int(panel.writers[row, column])
        lines.append(f"stored by program {writer}" if writer >= 0 else "never written")
    return lines


def _seen(tiles: TileMap, rows: slice, columns: slice) -> str:
    causal = tiles.causal
    if causal is None:
        return ""
    if causal.about == "pairs":
        return "hidden by the causal mask" if causal.hidden(rows, columns) else ""
    span = columns if causal.axis else rows
    return causal.words(span.start, span.stop)
