"""A tile map in every form in which it is shown; each is computed when it is first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from flashlearn.report import character_map, tooltips
from flashlearn.report.tilemap import TileMap


@dataclass(frozen=True, eq=False)
class ErrorMap:
    """Where the error is in one output: the map itself, in characters, and as a picture with tooltips."""

    tiles: TileMap

    @property
    def title(self) -> str:
        """What the map is of."""
        return self.tiles.title

    @property
    def caption(self) -> str:
        """Everything that the map says in words."""
        return self.tiles.caption

    @property
    def output(self) -> str:
        """The output's name."""
        return self.tiles.output

    @cached_property
    def characters(self) -> list[str]:
        """The map for a terminal: ruler, lines, legend."""
        return character_map.characters(self.tiles)

    @cached_property
    def picture(self) -> bytes:
        """The map as PNG, at twice a screen's resolution."""
        from flashlearn.report import tile_picture  # matplotlib: only when there is something to draw

        return tile_picture.png(self.tiles)

    @property
    def width(self) -> int:
        """The width in CSS pixels at which the picture is sharp, from the PNG's header."""
        return int.from_bytes(self.picture[16:20], "big") // 2

    @cached_property
    def areas(self) -> tuple[tooltips.Area, ...]:
        """The tooltips: rectangles of the picture, and what each says."""
        return tooltips.areas(self.tiles)
