"""The first value that departs from the exercise's quantities, alone or with another finding."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.rule import joined
from flashlearn.outcome import Finding, FindingKind, Wording

Tile = tuple[int, ...]


@dataclass(frozen=True)
class Instead:
    """What came out instead of the right value, by `kind`.

    "key shown" and "key hidden" have the `pair` of query and key, "multiple" the `ratio`, "not rescaled" the
    `name` of the sum. "unscaled" and "unmasked" lack alpha and the mask; "without delta", "share" (this
    tile's alone) and "NaN" need nothing more.
    """

    kind: str
    pair: tuple[int, int] = (0, 0)
    ratio: float = 1.0
    name: str = ""

    def __str__(self) -> str:
        query, key = self.pair
        return {
            "key shown": f"It shows key {key} to query {query}.",
            "key hidden": f"It hides key {key} from query {query}.",
            "unscaled": "It is Q Kᵀ without alpha, and alpha does not come later.",
            "unmasked": "",
            "NaN": "It holds NaN.",
            "without delta": "It is P ∘ dP: delta is not subtracted.",
            "share": "It holds this tile's share alone.",
            "not rescaled": f"The old `{self.name}` was not rescaled when the maximum moved.",
            "multiple": "",
        }[self.kind]


@dataclass(frozen=True)
class FirstDivergence(FindingKind):
    """A statement in `line` whose value is wrong, though what it was made of is right.

    It assigns `variable`, or is `stored`; it should make `quantity`, or its `rows` from … to …, from the
    names in `agrees`. `before` is the last tile in which everything was right.
    """

    name = "first divergence"
    locates = True

    variable: str
    line: int
    stored: bool
    tile: Tile
    before: Tile | None
    quantity: str
    rows: tuple[int, int] | None
    agrees: tuple[str, ...]
    instead: Instead | None

    def wording(self) -> Wording:
        """Where everything still agreed, and what came out instead of what."""
        where = f"in tile {_shown(self.tile)}, line {self.line}, {self._subject()}"
        listed = _listed(self.agrees, "" if self.stored else self.variable)
        though = f", though {listed} {'is' if len(self.agrees) == 1 else 'are'} right" if self.agrees else ""
        start = f"Through tile {_shown(self.before)} everything agrees; " if self.before is not None else ""
        meant = self.quantity
        if self.rows is not None:
            meant = f"rows {self.rows[0]} to {self.rows[1]} of {self.quantity}"
        what = f"not {meant}{though}"
        if self.instead is not None and self.instead.kind == "unmasked":
            what = f"{meant} without the mask: hidden keys have numbers in it like any other"
        elif self.instead is not None and self.instead.kind == "multiple":
            what = f"{self.instead.ratio:.4g} times {meant}{though}"
        sentence = f"{start}{where} is {what}."
        return Wording(
            joined(sentence[0].upper() + sentence[1:], str(self.instead or "")),
            f"Compare this line with what {self.quantity} is made of.",
        )

    def _subject(self) -> str:
        if not self.variable:
            return "the value that is stored" if self.stored else "the tile"
        return f"`{self.variable}` as it is stored" if self.stored else f"`{self.variable}`"


@dataclass(frozen=True)
class PaddingCounts(FindingKind):
    """`variable`, made in `line`, has right numbers, and beyond them something that a later sum counts.

    That sum is `total` in line `total_line`; with nothing in the padding everything is right.
    """

    name = "padding counts"
    called = ("first divergence",)
    locates = True

    variable: str
    line: int
    tile: Tile
    total: str
    total_line: int

    def wording(self) -> Wording:
        """Whose padding counts, and where."""
        into = (
            f"`{self.total}` in line {self.total_line}"
            if self.total
            else f"the sum in line {self.total_line}"
        )
        return Wording(
            f"`{self.variable}`, made in line {self.line}, is right for what exists; but what it holds "
            f"beyond that counts in {into}, in tile {_shown(self.tile)}.",
            "What must the padding hold so that it adds nothing: 0 in a sum, −∞ before a maximum or an "
            "exponential?",
        )


@dataclass(frozen=True)
class WithItsLine(FindingKind):
    """A finding, and the statement that departs first."""

    name = "with its line"
    locates = True

    parts: tuple[Finding, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the finding."""
        return self.parts[0].names

    @property
    def conclusive(self) -> bool:  # type: ignore[override]
        """If the finding is."""
        return self.parts[0].conclusive

    def wording(self) -> Wording:
        """One after the other."""
        finding, departure = self.parts
        return Wording(f"{finding.sentence} {departure.sentence}", finding.next_step)


@dataclass(frozen=True)
class DepartureAndPlace(FindingKind):
    """The statement that departs first, and which elements are wrong."""

    name = "departure and place"
    locates = True

    parts: tuple[Finding, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Those of the departure."""
        return self.parts[0].names

    def wording(self) -> Wording:
        """One after the other."""
        departure, place = self.parts
        return Wording(f"{departure.sentence} {place.sentence}", departure.next_step)


def _listed(names: tuple[str, ...], made: str) -> str:
    """The names in words; the name that the statement itself assigns was read with its old value."""
    quoted = [f"the old `{name}`" if name == made else f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))


def _shown(tile: Tile) -> str:
    return f"({', '.join(map(str, tile))})" if len(tile) > 1 else str(tile[0]) if tile else "()"
