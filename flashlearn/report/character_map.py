"""The tile map for a terminal: a character per group of elements, its worst; heads side by side.

S_q 0 to 36 down, D 0 to 15 across; each character stands for 1 element
       batch 1, head 2
     0┃················
    16┃░░░░▒▒▒▒▒▒▒▒▒▒▒▒
  · right   ░ up to 10×   ▒ up to 100×   ┊ sees no key
"""

from __future__ import annotations

import itertools

from flashlearn.later import numpy as np
from flashlearn.report.error_summary import NOT_FINITE, UNWRITTEN
from flashlearn.report.tilemap import Panel, TileMap, groups
from flashlearn.report.units import plural

LEVELS = (
    (1.0, "·", "right"),
    (10.0, "░", "up to 10×"),
    (100.0, "▒", "up to 100×"),
    (1000.0, "▓", "up to 1000×"),
)
BEYOND, NAN, HOLE = ("█", "more"), ("N", NOT_FINITE), ("?", UNWRITTEN)
LEGEND = (*((sign, words) for _, sign, words in LEVELS), BEYOND, NAN, HOLE)
ROWS, COLUMNS = 16, 64  # approximate size of one head's map
WIDE = 82  # characters for all heads together


def characters(tiles: TileMap) -> list[str]:
    """The ruler, the map's lines and the legend."""
    count = len(tiles.panels)
    limit = COLUMNS if count == 1 else min(COLUMNS, (WIDE - 5) // count - 3)
    blocks = [_block(tiles, panel, limit) for panel in tiles.panels]
    if all(spans == blocks[0][1] for _, spans, _ in blocks):  # one label for a row of all heads
        bare = [[line[_margin(spans[0]) :] for line in lines] for lines, spans, _ in blocks[1:]]
        blocks[1:] = [(lines, *rest) for lines, (_, *rest) in zip(bare, blocks[1:], strict=True)]
    wide = [max(map(len, lines)) for lines, _, _ in blocks]
    lines = [_ruler(tiles, blocks[0][1], blocks[0][2])]
    for row in itertools.zip_longest(*(block for block, _, _ in blocks), fillvalue=""):
        padded = (part.ljust(width) for part, width in zip(row, wide, strict=True))
        lines.append("  ".join(padded).rstrip())
    return [*lines, "  " + "   ".join(_legend(tiles, "".join(lines[1:])))]


def _block(
    tiles: TileMap, panel: Panel, limit: int
) -> tuple[list[str], tuple[list[tuple[int, int]], list[tuple[int, int]]], bool]:
    """One head's lines, the spans of rows and of columns in them, and whether blocks are separated."""
    causal = tiles.causal
    marks = [causal.marked if causal and causal.axis == axis else 0 for axis in (0, 1)]
    rows, row_edges = groups(panel, 0, ROWS, marks[0])
    columns, column_edges = groups(panel, 1, limit, marks[1])
    width = _margin(rows) - 2
    lines = [" " * (width + 3) + panel.title] if panel.title and len(tiles.panels) > 1 else []
    for number, span in enumerate(rows):
        if number and span[0] in row_edges:
            lines.append(" " * (width + 2) + ("┊" if span[0] < marks[0] else "┃"))
        text = ""
        for at in columns:
            if at[0]:
                text += "┊" if at[0] == marks[1] else "│" if at[0] in column_edges else ""
            text += _sign(tiles, panel, slice(*span), slice(*at))
        border = "┊" if span[0] < marks[0] else "┃"
        lines.append(f"  {text}" if tiles.strip else f"  {span[0]:>{width}}{border}{text}")
    return lines, (rows, columns), bool(row_edges or column_edges)


def _margin(rows: list[tuple[int, int]]) -> int:
    """Characters before a line's border: two spaces, and the number of its first row."""
    return 2 + len(str(rows[-1][0]))


def _sign(tiles: TileMap, panel: Panel, rows: slice, columns: slice) -> str:
    if panel.unwritten[rows, columns].any():
        return HOLE[0]
    part = panel.ratio[rows, columns]
    if np.isnan(part).any():
        return NAN[0]
    if part.max() <= 1 and tiles.causal is not None and tiles.causal.hidden(rows, columns):
        return " "
    return next((sign for limit, sign, _ in LEVELS if part.max() <= limit), BEYOND[0])


def _legend(tiles: TileMap, used: str) -> list[str]:
    entries = [
        f"{sign} {tiles.not_finite if sign == NAN[0] else words}" for sign, words in LEGEND if sign in used
    ]
    if len(entries) > (LEVELS[0][1] in used):
        entries[-1] += " what is allowed" if entries[-1].endswith("×") else ""
    if tiles.causal is not None:
        if tiles.causal.marked:
            where = "left of ┊" if tiles.causal.axis else "┊"
            entries.append(f"{where} queries that see no key")
        if tiles.causal.about == "pairs":
            entries.append("blank: hidden by the causal mask, and right")
    return entries


def _ruler(tiles: TileMap, spans: tuple[list[tuple[int, int]], list[tuple[int, int]]], cut: bool) -> str:
    high, wide = (max(b - a for a, b in part) for part in spans)
    size = tiles.panels[0].ratio.shape
    group = f"{high}×{wide} elements" if not tiles.strip else plural(wide, "element")
    across = f"{tiles.axes[1]} 0 to {size[1] - 1} across"
    where = across if tiles.strip else f"{tiles.axes[0]} 0 to {size[0] - 1} down, {across}"
    shows = "" if high * wide == 1 else " and shows the worst of them"
    return f"{where}; each character stands for {group if shows else '1 element'}{shows}" + (
        "; lines separate what different programs stored last" if cut else ""
    )
