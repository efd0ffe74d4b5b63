"""A value that is right only up to something, and the later statement in which that shows."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.first_divergence import Tile, listed, tile_words
from flashlearn.outcome import FindingKind, Wording


@dataclass(frozen=True)
class PaddingCounts(FindingKind):
    """`variable`, made in `line`, has right numbers, and beyond them something that a later sum counts.

    It lies `beyond` the last "query", "key", "row" or "column". That sum is `total` in line `total_line`;
    with nothing in the padding it is right.
    """

    name = "padding counts"
    called = ("first divergence",)
    locates = True

    variable: str
    line: int
    beyond: tuple[str, ...]
    case: str
    tile: Tile
    total: str
    total_line: int
    side: str = ""
    """What a tile of one axis is a block of."""
    always: tuple[str, str, int] | None = None
    """A comparison in that line that is true for every lane, and the name that was limited, in which line."""

    def wording(self) -> Wording:
        """Whose padding counts, and where."""
        last = " and ".join(f"the last {what}" for what in self.beyond)
        if self.total_line == self.line:
            counts = "enters a sum in that line"
        elif self.total:
            counts = f"enters `{self.total}` in line {self.total_line}"
        else:
            counts = f"enters the sum in line {self.total_line}"
        hides_nothing = ""
        if self.always is not None:
            comparison, name, line = self.always
            hides_nothing = (
                f" `{comparison}` is true for every lane: line {line} has limited `{name}` already."
            )
        return Wording(
            f"`{self.variable}`, computed in line {self.line}, is right up to {last}, but the padding beyond "
            f"it {counts}, in {tile_words(self.tile, self.side)} (case {self.case}).{hides_nothing}",
            "What must the padding hold so that it adds nothing: 0 in a sum, −∞ before a maximum or an "
            "exponential?",
        )


@dataclass(frozen=True)
class RightUpTo(FindingKind):
    """`variable`, made in `line`, is a "multiple" of what is needed, "turned", or an "other" quantity.

    It is what `is_` says and should be `needed`: with that in its place all outputs are right. It is read for
    `user` in line `user_line`, unless `indirectly`, together with `others`, which are right; what comes out
    there is `made`, where that is known.
    """

    name = "right up to"
    called = ("first divergence",)
    locates = True

    variable: str
    line: int
    how: str
    is_: str
    needed: str
    others: tuple[str, ...]
    case: str
    user: str
    user_line: int
    indirectly: bool = False
    made: str = ""

    def wording(self) -> Wording:
        """What the value is, where it is read, and that nothing else is wrong."""
        made = f"`{self.variable}`, computed in line {self.line}, is {self.is_}"
        reader = f"line {self.user_line}" + (f" (`{self.user}`)" if self.user else "")
        if self.how == "turned":
            beside = f"beside {listed(self.others)}" if self.others else "entry by entry"
            return Wording(
                f"{made} transposed, and {reader} reads it {beside} as if it were not: the shapes fit "
                "because the tile is square. Transposed once more, it makes every output right (case "
                f"{self.case}).",
                "Which axis of each of these tiles counts the queries, and which the keys?",
            )
        if self.how == "multiple":
            then = "" if self.indirectly else f", and {reader} reads it as {self.needed}"
            if self.made:
                then = f"; line {self.user_line} makes {self.made} of it"
            gives = (
                f"If line {self.user_line} gets" if then and not self.made else f"If line {self.line} gives"
            )
            return Wording(
                f"{made}{then}. {gives} {self.needed}, every output is right (case {self.case}).",
                "In which line does this factor belong, and in which is it one too many?",
            )
        return Wording(
            f"{made}, where {reader} needs {self.needed}: if it gets that, every output is right (case "
            f"{self.case}).",
            f"Compare line {self.line} with what {self.needed} is made of.",
        )
