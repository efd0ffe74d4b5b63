"""The values of one tile, element by element: got, expected and difference.

A tile is what one program stored, where that was observed, else a block of 16 × 16 elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flashlearn.later import numpy as np
from flashlearn.report.data import CheckResult
from flashlearn.report.panels import lead_name, split
from flashlearn.report.selection import find, head_number
from flashlearn.report.tile_grid import Span, Tile, cuts_of, position_of
from flashlearn.report.tilemap import Panel, TileMap, tile_map
from flashlearn.report.units import aligned, number, plural, times

ROWS, COLUMNS, LINE = 16, 8, 32  # shown at most; LINE elements of a single row
ROOM = 64  # characters for the three blocks of numbers and their rows' labels
WRONG, HOLE = "✗", "?"  # after a number that is wrong, or that no program wrote
MARKS = (WRONG, HOLE)


@dataclass(frozen=True)
class ValueRow:
    """A row of a chunk: its index, and the numbers as text; wrong ones end with a mark."""

    label: str
    got: tuple[str, ...]
    expected: tuple[str, ...]
    difference: tuple[str, ...]


@dataclass(frozen=True)
class Chunk:
    """As many columns as fit three times side by side; `marked` if numbers have room for a mark."""

    columns: tuple[str, ...]
    rows: tuple[ValueRow, ...]
    marked: bool


@dataclass(frozen=True, eq=False, repr=False)
class TileValues:
    """One tile's values; `sentences` say which tile it is and what is left out; `right` if none is wrong."""

    title: str
    sentences: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    worst: tuple[str, ...]
    legend: str
    right: bool


def tile_values(
    result: CheckResult,
    tile: Tile,
    output: str | None,
    case: str | int | None,
    head: int | tuple[int, ...] | None,
    block: int | tuple[int, int] | None,
) -> TileValues:
    """The values of one tile; without `tile` and `head`, where the largest error is. Raises NoSuchPart."""
    outcome, check = find(result, output, case)
    parts = split(tuple(check.got.shape), outcome.case.sizes)
    wanted = head_number(parts, head, check.name)
    tiles = tile_map(result.exercise, outcome.case, check, None if parts.down else wanted)
    panel, title = tiles.panels[0], tiles.panels[0].title
    if parts.down:
        row = int(panel.badness.max(1).argmax()) if wanted is None else wanted
        panel, title = _one_row(panel, row), lead_name(parts.down, row, "head")
        tiles = replace(tiles, strip=True)
    cuts, known = cuts_of(panel, block)
    at = position_of(tile, panel, cuts, tiles)
    place = tuple(spans[i] for spans, i in zip(cuts, at, strict=True))
    words = [tiles.output, f"case {tiles.case}", title, f"tile {at[1] if tiles.strip else at}"]
    return _values(tiles, panel, place, ", ".join(filter(None, words)), (cuts, known))


def _one_row(panel: Panel, row: int) -> Panel:
    one = {
        name: None if (x := getattr(panel, name)) is None else x[row : row + 1]
        for name in ("ratio", "got", "expected", "writers")
    }
    return replace(panel, first=panel.first + row * panel.ratio.shape[1], **one)


def _values(tiles: TileMap, panel: Panel, place: tuple[Span, ...], title: str, blocks: Any) -> TileValues:
    rows, columns = (slice(*span) for span in place)
    bad = panel.badness[rows, columns] > 1
    window = _window(panel, place)
    chunks = chunks_of(tiles, panel, window)
    high, wide = bad.shape
    seen = [b - a for a, b in window]
    sentences = [_what(tiles, panel, place, blocks), _verdict(int(bad.sum()), bad.size)]
    cut = seen != [high, wide]
    if cut:
        parts = [f"{seen[0]} of its {plural(high, 'row')}"] if seen[0] < high else []
        parts += [f"{seen[1]} of its {plural(wide, 'column')}"] if seen[1] < wide else []
        sentences.append(f"Shown are {' and '.join(parts)}, around its largest error.")
    holes = bool(panel.unwritten[rows, columns].any())
    legend = legend_of(bool(bad.any()), tiles.allowed, holes)
    worst = _worst(tiles, panel, rows, columns) if cut and bad.any() else ()
    return TileValues(title, tuple(sentences), chunks, worst, legend, not bad.any())


def legend_of(wrong: bool, allowed: float, holes: bool) -> str:
    """What the marks after numbers mean."""
    parts = [f"{WRONG} off by more than the allowed {number(allowed)}"] if wrong else []
    return ";   ".join([*parts, f"{HOLE} never written"] if holes else parts)


def _verdict(wrong: int, count: int) -> str:
    if not wrong:
        return f"All of its {plural(count, 'element')} are within what is allowed."
    return f"{wrong} of its {plural(count, 'element')} {'is' if wrong == 1 else 'are'} wrong."


def _what(tiles: TileMap, panel: Panel, place: tuple[Span, ...], blocks: Any) -> str:
    """Which elements these are, and who stored them."""
    (top, bottom), (left, right) = place
    spans = [] if tiles.strip else [f"{tiles.axes[0]} {_range(top, bottom)}"]
    elements = f"{', '.join([*spans, f'{tiles.axes[1]} {_range(left, right)}'])}"
    cuts, known = blocks
    count = len(cuts[0]) * len(cuts[1])
    of = f"; one of {plural(count, 'tile')} of this head" if count > 1 and len(panel.shape) > 2 else ""
    of = of or (f"; one of {plural(count, 'tile')}" if count > 1 else "")
    if not known or panel.writers is None:
        return f"{elements}{of}."
    who = np.unique(panel.writers[top:bottom, left:right])
    stored = f", stored by program {int(who[0])}" if who.size == 1 and who[0] >= 0 else ""
    return f"{elements}{stored}{of}."


def _range(first: int, stop: int) -> str:
    return f"{first} to {stop - 1}" if stop - first > 1 else str(first)


def _window(panel: Panel, place: tuple[Span, ...]) -> list[Span]:
    """The rows and columns that are shown: all of a small tile, else those around its largest error."""
    rows, columns = (slice(*span) for span in place)
    part = panel.badness[rows, columns]
    worst = np.unravel_index(int(part.argmax()), part.shape)
    single = part.shape[0] == 1
    window = []
    for (first, last), at, most in zip(place, worst, (1, LINE) if single else (ROWS, COLUMNS), strict=True):
        start = min(max(first + int(at) - most // 2, first), max(last - most, first))
        window.append((start, min(start + most, last)))
    return window


def chunks_of(tiles: TileMap, panel: Panel, window: list[Span]) -> tuple[Chunk, ...]:
    """The numbers of a part of a panel, got beside expected beside the difference; wrong ones are marked."""
    rows, columns = (slice(*span) for span in window)
    got, expected = panel.got[rows, columns], panel.expected[rows, columns]
    with np.errstate(invalid="ignore"):
        gap = np.where((got == expected) | (np.isnan(got) & np.isnan(expected)), 0.0, got - expected)
    marks = np.where(panel.badness[rows, columns] > 1, WRONG, " ")
    marks = np.where(panel.unwritten[rows, columns], HOLE, marks)
    if not (marks != " ").any():
        marks = np.full(marks.shape, "")
    both = aligned(np.stack([got, expected]))
    blocks = [_joined(both[0], marks), both[1], _joined(aligned(gap, marks == WRONG), marks)]
    labels = [[str(i) for i in range(*span)] for span in window]
    if got.shape[0] == 1:  # a single row reads better downwards
        blocks, labels = [block.T for block in blocks], [labels[1], [""]]
    size = sum(max(map(len, [*block.ravel(), labels[1][-1] + " "])) + 1 for block in blocks)
    across = max(1, (ROOM - len(labels[0][-1])) // size)
    return tuple(
        Chunk(
            tuple(labels[1][first : first + across]),
            tuple(
                ValueRow(label, *(tuple(block[i, first : first + across].tolist()) for block in blocks))
                for i, label in enumerate(labels[0])
            ),
            bool((marks != "").any()),
        )
        for first in range(0, len(labels[1]), across)
    )


def _joined(numbers: np.ndarray, marks: np.ndarray) -> np.ndarray:
    return np.char.add(numbers, marks)


def _worst(tiles: TileMap, panel: Panel, rows: slice, columns: slice) -> tuple[str, ...]:
    """The tile's worst elements in full, five at most."""
    part = panel.badness[rows, columns]
    order = np.argsort(-part, axis=None, kind="stable")[: min(5, int((part > 1).sum()))]
    lines = []
    for row, column in zip(*np.unravel_index(order, part.shape), strict=True):
        i, j = int(row) + rows.start, int(column) + columns.start
        got, expected = float(panel.got[i, j]), float(panel.expected[i, j])
        text = f"{tiles.output}{panel.index(i, j)}: got {number(got, 4)}, expected {number(expected, 4)}"
        ratio = float(panel.ratio[i, j])
        text += f", {times(ratio)} times what is allowed" if np.isfinite(ratio) else ""
        lines.append(text + (", never written" if panel.unwritten[i, j] else ""))
    return tuple(lines)
