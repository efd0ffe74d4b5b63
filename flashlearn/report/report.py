"""`Report`: the result of a check, which a notebook shows as a card, and `print` as text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from flashlearn.report import display, html, record, text
from flashlearn.report.budgets import compiled_of
from flashlearn.report.card import Card, card_of
from flashlearn.report.data import CheckResult
from flashlearn.report.error_map import ErrorMap
from flashlearn.report.selection import find
from flashlearn.report.tile_values import TileValues, tile_values
from flashlearn.report.tilemap import TileMap, first_wrong, tile_map
from flashlearn.report.verdict import Verdict, verdict_of


@dataclass(frozen=True, eq=False, repr=False)
class Report(CheckResult):
    """The result of a check. Shown by Jupyter as a card, by `print` as text; nothing is computed again.

    >>> report = flashlearn.check("softmax_forward", softmax_forward)
    >>> report.passed, report.status.value
    (False, 'out of bounds')
    """

    @cached_property
    def verdict(self) -> Verdict:
        """What comes first: the verdict, its sentence, the marked line, what is next."""
        return verdict_of(self)

    @property
    def card(self) -> Card:
        """Everything that is shown. The compilers' figures are read each time: they may arrive later."""
        return replace(self._card, compiled=compiled_of(self), budgets=self.budgets_if_ready)

    @cached_property
    def _card(self) -> Card:
        return card_of(self, self.verdict)

    @property
    def sentence(self) -> str:
        """The finding in one sentence."""
        return self.verdict.sentence

    @cached_property
    def tiles(self) -> TileMap | None:
        """Where the error is in the first wrong case."""
        return first_wrong(self.exercise, self.outcomes)

    def show(self, output: str | None = None, case: str | int | None = None) -> ShownMap:
        """The map of one output of one case (its name, or its number from 0): by default the first wrong one.

        Raises NoSuchPart for a name that this report does not have.

        >>> report.show("dk")
        """
        outcome, check = find(self, output, case)
        return ShownMap(tile_map(self.exercise, outcome.case, check), check.ok)

    def dump(
        self,
        tile: int | tuple[int, ...] | None = None,
        output: str | None = None,
        case: str | int | None = None,
        head: int | tuple[int, ...] | None = None,
        block: int | tuple[int, int] | None = None,
    ) -> Dump:
        """Got, expected and difference of one tile, side by side; without `tile`, of the worst one.

        Tiles are the blocks that programs stored, where that was observed, else 16 × 16 elements; `block`
        asks for other ones. `head` is its number, or (batch, head). Raises NoSuchPart for a part that this
        report does not have.

        >>> report.dump(tile=(1, 0), output="dk", head=(0, 2))
        """
        return Dump(**vars(tile_values(self, tile, output, case, head, block)))

    def to_dict(self) -> dict[str, Any]:
        """The report as data for JSON: no tensors, no pictures; numbers that are not finite are null."""
        return record.card_record(self.card)

    def to_verdict(self) -> dict[str, Any]:
        """What comes first, as data for JSON: the verdict, its sentence, the marked line, what is next."""
        return record.verdict_record(self.verdict)

    def text(self, width: int = text.WIDTH, colour: bool = False) -> str:
        """The report for a terminal; with `colour`, verdicts and marks have escape codes."""
        return text.render(self.card, width, colour)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.render(self.card)

    def _ipython_display_(self) -> None:
        handle = self.progress_line.take_handle() if self.progress_line is not None else None
        display.show(self, self.budgets, handle)


@dataclass(frozen=True, eq=False, repr=False)
class ShownMap(ErrorMap):
    """A map that Jupyter displays as a card and `print` writes as text; `right` if no element is wrong."""

    right: bool

    def __str__(self) -> str:
        return text.render_map(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.render_map(self, self.right)


@dataclass(frozen=True, eq=False, repr=False)
class Dump(TileValues):
    """One tile's values, which Jupyter displays as a card and `print` writes as text."""

    def __str__(self) -> str:
        return text.render_values(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.render_values(self)
