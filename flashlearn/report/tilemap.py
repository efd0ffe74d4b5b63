"""Where the error lies in the first wrong case: |error| over allowed, as numbers and as characters.

>>> print("\\n".join(characters(tile_map(outcomes))))
columns 0 to 36, one character for 1
  0 ┃ ······▒▒▒
  1 ┃ ······▓▓▓
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from flashlearn.exercise import Case
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.report.units import plural, times

LEVELS = (
    (1.0, "·", "right"),
    (10.0, "░", "up to 10×"),
    (100.0, "▒", "up to 100×"),
    (1000.0, "▓", "up to 1000×"),
)
BEYOND, NOT_FINITE, UNWRITTEN = ("█", "more"), ("N", "NaN or infinite"), ("?", "never written")
TEXT_ROWS, TEXT_COLUMNS = 16, 64  # about so many lines and characters


@dataclass(frozen=True)
class TileMap:
    """One output, or the worst two-dimensional slice of it.

    `ratio` is |error| / allowed, NaN where the result is not finite although it should be (or the other
    way round); `writers` is the flat id of the program that stored each element, −1 if none did. `summary`
    says of the whole output how much is wrong, how far, and whose it is.
    """

    output: str
    case: str
    place: str
    axes: tuple[str, str]
    ratio: np.ndarray
    writers: np.ndarray | None
    summary: str
    strip: bool = False

    @cached_property
    def unwritten(self) -> np.ndarray:
        """Wrong elements that no program stored."""
        return _unwritten(self.ratio, self.writers)

    @cached_property
    def not_finite(self) -> np.ndarray:
        """Elements that were stored, but hold NaN or an infinity where the reference has a number."""
        return np.isnan(self.ratio) & ~self.unwritten


def tile_map(outcomes: Iterable[Outcome]) -> TileMap | None:
    """The map of the first wrong output that can be compared element by element, or None."""
    for outcome in outcomes:
        if outcome.status is not Status.WRONG:
            continue
        for check in outcome.outputs:
            if not check.ok and _comparable(check):
                return _map(outcome.case, check)
    return None


def name(tiles: TileMap) -> str:
    """What the map is of: «ds, case ragged 7×37, slice [1, 0]»."""
    return ", ".join(part for part in (tiles.output, f"case {tiles.case}", tiles.place) if part)


def characters(tiles: TileMap) -> list[str]:
    """The map for a terminal: one character for a group of elements, the worst of each group."""
    rows, row_edges = _groups(tiles, 0, TEXT_ROWS)
    columns, column_edges = _groups(tiles, 1, TEXT_COLUMNS)
    signs = [[_sign(tiles, slice(*r), slice(*c)) for c in columns] for r in rows]
    width = len(str(rows[-1][0]))
    lines = [_ruler(tiles, rows, columns, bool(row_edges or column_edges))]
    for index, (span, line) in enumerate(zip(rows, signs, strict=True)):
        if index and span[0] in row_edges:
            lines.append(" " * (width + 2) + "┃")
        text = "".join(
            ("│" if c[0] in column_edges and c[0] else "") + s for c, s in zip(columns, line, strict=True)
        )
        lines.append(f"  {span[0]:>{width}}┃{text}" if not tiles.strip else f"  {text}")
    used = {sign for line in signs for sign in line}
    legend = [*((sign, words) for _, sign, words in LEVELS), BEYOND, NOT_FINITE, UNWRITTEN]
    lines.append("  " + "   ".join(f"{sign} {words}" for sign, words in legend if sign in used))
    return lines


def _comparable(check: OutputCheck) -> bool:
    got, expected = check.got, check.expected
    if not (isinstance(got, torch.Tensor) and isinstance(expected, torch.Tensor)):
        return False
    return got.shape == expected.shape and got.ndim > 0 and got.numel() > 1 and check.allowed == check.allowed


def _map(case: Case, check: OutputCheck) -> TileMap:
    shape = tuple(check.got.shape)
    ratio = _ratio(check)
    writers = check.writers.reshape(shape).numpy() if check.writers is not None else None
    summary, place, axes = _summary(ratio, writers), "", _axes(case, shape)
    if len(shape) > 2:
        badness = np.nan_to_num(ratio, nan=np.inf).reshape(-1, *shape[-2:])
        wrong = (badness > 1).sum((1, 2))
        worst = int(np.lexsort((wrong, badness.max((1, 2))))[-1])
        index = np.unravel_index(worst, shape[:-2])
        place = f"slice [{', '.join(str(int(i)) for i in index)}] of {list(shape[:-2])}, the worst"
        ratio = ratio[index]
        writers = writers[index] if writers is not None else None
    strip = ratio.ndim == 1
    if strip:
        ratio, writers = ratio[None], writers[None] if writers is not None else None
    return TileMap(check.name, case.name, place, axes, ratio, writers, summary, strip)


def _ratio(check: OutputCheck) -> np.ndarray:
    got, expected = (
        check.got.detach().to(torch.float64).numpy(),
        check.expected.detach().to(torch.float64).numpy(),
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(got - expected)
        ratio = error / check.allowed if check.allowed > 0 else np.where(error > 0, np.inf, 0.0)
    ratio = np.where(np.isfinite(got) & np.isfinite(expected), ratio, np.nan)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(same, 0.0, ratio)


def _axes(case: Case, shape: tuple[int, ...]) -> tuple[str, str]:
    """The last two dimensions' names from the case's sizes, where only one size can be meant."""
    names = []
    for size, fallback in zip(
        (1, *shape)[-2:], ("row", "column" if len(shape) > 1 else "element"), strict=True
    ):
        fits = [n for n, s in case.sizes.items() if s == size]
        names.append(fits[0] if len(fits) == 1 else fallback)
    return names[0], names[1]


def _unwritten(ratio: np.ndarray, writers: np.ndarray | None) -> np.ndarray:
    """Elements that no program stored, unless they are right: memory from torch.zeros can be."""
    return np.zeros(ratio.shape, bool) if writers is None else (writers < 0) & ~(ratio <= 1)


def _summary(ratio: np.ndarray, writers: np.ndarray | None) -> str:
    unwritten = _unwritten(ratio, writers)
    not_finite = np.isnan(ratio) & ~unwritten
    wrong = (ratio > 1) | not_finite | unwritten
    count = int(wrong.sum())
    first = f"{count} of {plural(wrong.size, 'element')} {'is' if count == 1 else 'are'} wrong"
    finite = np.where(unwritten | np.isnan(ratio), 0.0, ratio)
    if finite.max(initial=0.0) > 1:
        at = [int(i) for i in np.unravel_index(int(finite.argmax()), finite.shape)]
        first += f", the worst at {at} by {times(float(finite.max()))} times what is allowed"
    parts = [first]
    for mask, words in ((not_finite, NOT_FINITE[1]), (unwritten, UNWRITTEN[1])):
        if mask.any():
            parts.append(f"{int(mask.sum())} {'is' if mask.sum() == 1 else 'are'} {words}")
    return ". ".join([*parts, *_owners(wrong, writers)]) + "."


def _owners(wrong: np.ndarray, writers: np.ndarray | None) -> list[str]:
    """Which programs stored the wrong elements, where there are several."""
    if writers is None:
        return []
    every, guilty = (_numbers(writers[mask & (writers >= 0)]) for mask in (np.True_, wrong))
    if not guilty.size or every.size < 2:
        return []
    if guilty.size == every.size:
        return [f"Each of the {every.size} programs stored some of them"]
    if guilty.size > 1:
        return [f"{guilty.size} of {every.size} programs stored them"]
    spans = [f"{int(i.min())} to {int(i.max())}" for i in np.nonzero(writers == guilty[0])]
    return [f"One of {every.size} programs stored them, the one that owns [{', '.join(spans)}]"]


def _numbers(programs: np.ndarray) -> np.ndarray:
    """The distinct program numbers, by counting: sorting millions of elements takes half a second."""
    return np.flatnonzero(np.bincount(programs.ravel()))


def edges(tiles: TileMap, axis: int) -> np.ndarray:
    """Positions along `axis` at which another program's elements begin, anywhere across."""
    if tiles.writers is None:
        return np.zeros(0, int)
    changes = np.diff(tiles.writers, axis=axis) != 0
    return np.flatnonzero(changes.any(axis=1 - axis)) + 1


def _groups(tiles: TileMap, axis: int, limit: int) -> tuple[list[tuple[int, int]], set[int]]:
    """Spans of elements that share a character, cut at block boundaries where those are few."""
    size = tiles.ratio.shape[axis]
    step = -(-size // limit)
    blocks = edges(tiles, axis)
    spaced = len(blocks) and size / (len(blocks) + 1) >= 3 * step
    cuts = [0, *(blocks.tolist() if spaced else ()), size]
    spans = []
    for first, last in itertools.pairwise(cuts):
        spans += [(at, min(at + step, last)) for at in range(first, last, step)]
    return spans, set(blocks.tolist()) if spaced else set()


def _sign(tiles: TileMap, rows: slice, columns: slice) -> str:
    if tiles.unwritten[rows, columns].any():
        return UNWRITTEN[0]
    part = tiles.ratio[rows, columns]
    if np.isnan(part).any():
        return NOT_FINITE[0]
    return next((sign for limit, sign, _ in LEVELS if part.max() <= limit), BEYOND[0])


def _ruler(tiles: TileMap, rows: list[tuple[int, int]], columns: list[tuple[int, int]], cut: bool) -> str:
    high, wide = (max(b - a for a, b in spans) for spans in (rows, columns))
    size = tiles.ratio.shape
    group = f"{high}×{wide} elements" if not tiles.strip else plural(wide, "element")
    across = f"{tiles.axes[1]} 0 to {size[1] - 1}"
    where = f"{across} across" if tiles.strip else f"{tiles.axes[0]} 0 to {size[0] - 1} down, {across} across"
    each = "element" if high * wide == 1 else f"{group}, the worst of them"
    return f"{where}; one character per {each}" + ("; lines between programs" if cut else "")
