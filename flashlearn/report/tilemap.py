"""Where the error is in an output: |error| over allowed, a panel per head, with the values for tooltips.

    >>> tiles = tile_map(exercise, outcome.case, check)
    >>> tiles.summary
    '81 of 960 elements are wrong, the worst at [1, 2, 10, 3] by 1000 times what is allowed (got …'

`character_map` draws it for a terminal, `tile_picture` as a PNG; `tooltips` gives the numbers under the
mouse.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from flashlearn.exercise import Case, Exercise
from flashlearn.later import numpy as np
from flashlearn.later import torch, types_of
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.report.causal_mask import CausalMask, causal_mask_of
from flashlearn.report.error_summary import NOT_FINITE, summary_of, unwritten_of
from flashlearn.report.panels import axes_of, dimension_names, rest_sentence, split

PANELS = 4  # at most


@dataclass(frozen=True)
class Panel:
    """One head: `ratio` is |error| / allowed, NaN where just one of result and reference is finite.

    All arrays are rows × columns; `writers` is the flat id of the program that stored each element, −1 if
    none did. Element (0, 0) is number `first` of the output, whose shape is `shape`.
    """

    title: str
    number: int
    ratio: np.ndarray
    got: np.ndarray
    expected: np.ndarray
    writers: np.ndarray | None
    first: int
    shape: tuple[int, ...]

    @cached_property
    def unwritten(self) -> np.ndarray:
        """Wrong elements that no program stored."""
        return unwritten_of(self.ratio, self.writers)

    @cached_property
    def not_finite(self) -> np.ndarray:
        """Elements that were stored, where one of the two numbers is NaN or infinite, or both are."""
        return np.isnan(self.ratio) & ~self.unwritten

    @cached_property
    def badness(self) -> np.ndarray:
        """`ratio` for sorting: NaN and never written elements are the worst."""
        return np.where(self.unwritten, np.inf, np.nan_to_num(self.ratio, nan=np.inf, posinf=1e300))

    def index(self, row: int, column: int) -> list[int]:
        """The element's index in the whole output."""
        flat = self.first + row * self.ratio.shape[1] + column
        return [int(i) for i in np.unravel_index(flat, self.shape)]


@dataclass(frozen=True)
class TileMap:
    """An output's map. `summary` speaks of the whole output, `rest` of the heads that are not shown.

    `allowed` is in the output's units; `causal` is what the mask says about rows and columns, if any.
    """

    output: str
    case: str
    axes: tuple[str, str]
    panels: tuple[Panel, ...]
    summary: str
    rest: str = ""
    allowed: float = 0.0
    strip: bool = False
    causal: CausalMask | None = None

    @property
    def title(self) -> str:
        """What the map is of: «ds, case ragged 7×37, batch 1, head 0»."""
        panel = self.panels[0].title if len(self.panels) == 1 else ""
        return ", ".join(part for part in (self.output, f"case {self.case}", panel) if part)

    @property
    def not_finite(self) -> str:
        """What the elements are whose error is no number, among them a learner's 0 where −inf is right."""
        numbers = any(np.isfinite(panel.got[panel.not_finite]).any() for panel in self.panels)
        return "NaN or infinite, or should be" if numbers else NOT_FINITE

    @property
    def caption(self) -> str:
        """Everything that the map says in words."""
        note = self.causal.note if self.causal else ""
        return " ".join(part for part in (self.summary, self.rest, note) if part)


def first_wrong(exercise: Exercise, outcomes: Iterable[Outcome]) -> TileMap | None:
    """The map of the first wrong output that can be compared element by element, or None."""
    for outcome in outcomes:
        for check in outcome.outputs if outcome.status is Status.WRONG else ():
            if not check.ok and comparable(check) and check.got.numel() > 1:
                return tile_map(exercise, outcome.case, check)
    return None


def comparable(check: OutputCheck) -> bool:
    """Whether an output can be compared element by element."""
    got, expected = check.got, check.expected
    if not all(isinstance(values, types_of("torch", "Tensor")) for values in (got, expected)):
        return False
    same = got.shape == expected.shape and not check.problem
    return same and got.ndim > 0 and got.numel() > 0 and check.allowed == check.allowed


def tile_map(exercise: Exercise, case: Case, check: OutputCheck, head: int | None = None) -> TileMap:
    """The map of a comparable output: its worst heads, or the one with this number."""
    shape = tuple(check.got.shape)
    got, expected = (t.detach().to(torch.float64).numpy().reshape(shape) for t in (check.got, check.expected))
    ratio = _ratio(got, expected, check.allowed)
    writers = check.writers.reshape(shape).numpy() if check.writers is not None else None
    parts = split(shape, case.sizes)
    size = parts.rows * parts.columns
    stack = (parts.count, parts.rows, parts.columns)
    order, wrong = _worst_first(ratio.reshape(stack), None if writers is None else writers.reshape(stack))
    chosen = order[: min(PANELS, max(wrong, 1))] if head is None else [head]
    panels = tuple(
        Panel(
            parts.title(n),
            n,
            *(x.reshape(stack)[n] for x in (ratio, got, expected)),
            None if writers is None else writers.reshape(stack)[n],
            n * size,
            shape,
        )
        for n in chosen
    )
    rms = 0.0 if check.ok else check.rms_ratio
    owners = None if exercise.judged.atomics else writers  # what is added to has no owner: many wrote there
    return TileMap(
        check.name,
        case.name,
        axes_of(check.name, case, parts),
        panels,
        summary_of(ratio, got, expected, owners, rms, dimension_names(shape, case.sizes)),
        rest_sentence(parts, len(panels), wrong) if head is None else "",
        check.allowed,
        parts.strip,
        causal_mask_of(exercise, case, check.name, parts),
    )


def _worst_first(ratio: np.ndarray, writers: np.ndarray | None) -> tuple[list[int], int]:
    """The panels' numbers, worst first (by the largest error, then by how many), and how many are wrong."""
    badness = np.where(unwritten_of(ratio, writers), np.inf, np.nan_to_num(ratio, nan=np.inf, posinf=np.inf))
    count, largest = (badness > 1).sum((1, 2)), badness.max((1, 2))
    return [int(n) for n in np.lexsort((-count, -largest))], int((count > 0).sum())


def _ratio(got: np.ndarray, expected: np.ndarray, allowed: float) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(got - expected)
        ratio = error / allowed if allowed > 0 else np.where(error > 0, np.inf, 0.0)
    ratio = np.where(np.isfinite(got) & np.isfinite(expected), ratio, np.nan)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    return np.where(same, 0.0, ratio)


def edges(panel: Panel, axis: int) -> np.ndarray:
    """Positions along `axis` at which the program changes, anywhere across."""
    if panel.writers is None:
        return np.zeros(0, int)
    changes = np.diff(panel.writers, axis=axis) != 0
    return np.flatnonzero(changes.any(axis=1 - axis)) + 1


def groups(
    panel: Panel, axis: int, limit: int, cut: int = 0, least: int = 3
) -> tuple[list[tuple[int, int]], set[int]]:
    """About `limit` spans of elements along `axis`, cut at `cut` and, where blocks are large, between them.

    Also the boundaries between blocks, if spans were cut there: if a block has `least` spans on average.
    """
    size = panel.ratio.shape[axis]
    step = -(-size // limit)
    blocks = edges(panel, axis).tolist()
    spaced = bool(blocks) and size / (len(blocks) + 1) >= least * step
    cuts = sorted({0, size, *(blocks if spaced else ()), *((cut,) if 0 < cut < size else ())})
    spans = []
    for first, last in itertools.pairwise(cuts):
        spans += [(at, min(at + step, last)) for at in range(first, last, step)]
    return spans, set(blocks) if spaced else set()
