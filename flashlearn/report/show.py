"""`report.show("dk")`: the map of one output of one case, right or wrong, as a picture and as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashlearn.report import html, text
from flashlearn.report.selection import find
from flashlearn.report.tilemap import TileMap, tile_map

if TYPE_CHECKING:
    from flashlearn.report import Report


@dataclass(frozen=True, eq=False, repr=False)
class ShownMap:
    """A map that Jupyter displays as a card and `print` writes as text."""

    tiles: TileMap
    right: bool

    def __str__(self) -> str:
        return text.render_map(self.tiles)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html.render_map(self.tiles, self.right)


def shown_map(report: Report, output: str | None, case: str | int | None) -> ShownMap:
    """The map; raises NoSuchPart for a name that the report does not have."""
    outcome, check = find(report, output, case)
    return ShownMap(tile_map(report.exercise, outcome.case, check), check.ok)
