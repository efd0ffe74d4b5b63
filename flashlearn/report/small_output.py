"""Small outputs in full: got, expected, difference. Of so few numbers a map would say less."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from flashlearn.exercise import Case, Exercise
from flashlearn.later import types_of
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.report.panels import split
from flashlearn.report.tile_values import Chunk, chunks_of, legend_of
from flashlearn.report.tilemap import Panel, TileMap, comparable, tile_map

MAX_NUMBERS = 32
FEW_ROWS = 6  # shown unfolded, where no line of code is


@dataclass(frozen=True)
class SmallOutput:
    """The numbers of a small output; `title` says of which, and of which case."""

    title: str
    summary: str
    chunks: tuple[Chunk, ...]
    legend: str

    @property
    def is_short(self) -> bool:
        """True if it has a few rows."""
        return len(self.chunks[0].rows) <= FEW_ROWS


def first_small(exercise: Exercise, outcomes: Iterable[Outcome]) -> SmallOutput | None:
    """The first wrong output that can be compared, if it is small enough to be read."""
    for outcome in outcomes:
        for check in outcome.outputs if outcome.status is Status.WRONG else ():
            check = _with_a_dimension(check)
            if not check.ok and comparable(check):
                return _small(exercise, outcome.case, check) if check.got.numel() <= MAX_NUMBERS else None
    return None


def _with_a_dimension(check: OutputCheck) -> OutputCheck:
    """A single number as a vector of one."""
    both = (check.got, check.expected)
    if not all(isinstance(value, types_of("torch", "Tensor")) and value.ndim == 0 for value in both):
        return check
    writers = check.writers.reshape(1) if check.writers is not None else None
    return replace(check, got=check.got.reshape(1), expected=check.expected.reshape(1), writers=writers)


def _small(exercise: Exercise, case: Case, check: OutputCheck) -> SmallOutput:
    count = split(tuple(check.got.shape), case.sizes).count
    maps = [tile_map(exercise, case, check, n if count > 1 else None) for n in range(count)]
    chunks = tuple(chunk for tiles in maps for chunk in _chunks(tiles, tiles.panels[0]))
    first = maps[0]
    legend = legend_of(True, first.allowed, any(bool(t.panels[0].unwritten.any()) for t in maps))
    return SmallOutput(f"{first.output}, case {first.case}", first.summary, chunks, legend)


def _chunks(tiles: TileMap, panel: Panel) -> list[Chunk]:
    """The panel's numbers; the rows of an output with heads have their index as label."""
    rows, columns = panel.ratio.shape
    chunks = chunks_of(tiles, panel, [(0, rows), (0, columns)])
    if len(panel.shape) < 3:
        return list(chunks)
    labels = [str(panel.index(row, 0)[:-1]) for row in range(rows)]
    if rows == 1:  # the single row is written downwards
        labels = [str(panel.index(0, column)) for column in range(columns)]
    return [
        replace(c, rows=tuple(replace(r, label=n) for r, n in zip(c.rows, labels, strict=True)))
        for c in chunks
    ]
