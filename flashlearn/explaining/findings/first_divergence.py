"""The first value that departs from the exercise's quantities, alone or with another finding."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.rule import joined, labelled, listed_words
from flashlearn.outcome import Finding, FindingKind, Wording

Tile = tuple[int, ...]


@dataclass(frozen=True)
class Instead:
    """What came out instead of the right value, by `kind`.

    "key shown", "key hidden" and "unmasked" have the `pair` of query and key, "multiple" the `ratio` and its
    words, `factor`, "not rescaled" the `name` of the sum. "place" has what was loaded as its name, "bare" the
    exponentials of S itself, "power" those to another power, "another unit" those relative to another
    maximum. "unscaled" lacks alpha; "without delta", "share"
    (this tile's alone) and "NaN" need nothing more.
    """

    kind: str
    pair: tuple[int, int] = (0, 0)
    ratio: float = 1.0
    name: str = ""
    factor: str = ""

    def __str__(self) -> str:
        query, key = self.pair
        return {
            "key shown": f"it shows key {key} to query {query}, which may not see it",
            "key hidden": f"it hides key {key} from query {query}, which should see it",
            "unscaled": "it is Q Kᵀ without alpha, and alpha does not come later",
            "without delta": "it is P ∘ dP, so delta is not subtracted",
            "share": "it contains only this tile's share",
            "place": f"it is {self.name}",
            "bare": f"it is {self.name}, with 0 in the place of m",
            "not rescaled": f"the old `{self.name}` was not rescaled when the maximum moved",
        }.get(self.kind, "")


@dataclass(frozen=True)
class FirstDivergence(FindingKind):
    """A statement in `line` whose value is wrong in a `tile` of the `case`.

    It assigns `variable`, or is `stored`; it should make `quantity` (or a multiple, `times` it), or its
    `rows` from … to …, of the names in `agrees`, which are right. `besides` are names that it reads as well,
    each with what it is. `before` is the last tile in which everything was right; along one axis alone, a
    tile is a block of its `side`, "queries" for example. A line that `loads` it
    loads something "given", or "made" before. A `function` is called in several lines, not all of them
    without a mask.
    """

    name = "first divergence"
    locates = True

    variable: str
    line: int
    stored: bool
    case: str
    tile: Tile
    before: Tile | None
    quantity: str
    times: str
    rows: tuple[int, int] | None
    agrees: tuple[str, ...]
    besides: tuple[tuple[str, str], ...]
    instead: Instead | None
    loads: str = ""
    function: str = ""
    side: str = ""

    def wording(self) -> Wording:
        """Where everything still agreed, and what came out instead of what."""
        within = f" of {self.function}" if self.function else ""
        where = f"in {tile_words(self.tile, self.side)}, line {self.line}{within}, {self._subject()}"
        start = (
            f"Up to and including {tile_words(self.before, self.side)}, no result is wrong; "
            if self.before is not None
            else ""
        )
        is_ = "still has" if self.instead is not None and self.instead.kind == "unmasked" else "is"
        sentence = f"{start}{where} {is_} {self._what()} (case {self.case})."
        return Wording(sentence[0].upper() + sentence[1:], self._step())

    def _step(self) -> str:
        """What to look at, by what came out."""
        kind = self.instead.kind if self.instead is not None else ""
        if self.function:
            return (
                f"{self.function} is called in several lines: which of these calls takes this tile, and with "
                "which arguments?"
            )
        if kind == "NaN":
            return "Which operands are infinite there, and what do this line and the lines before it compute?"
        if kind == "multiple":
            return "Which line applies this factor, or leaves it out: this one, or one before it?"
        if kind == "power":
            return "e^x is 2^(x log2 e): do the function and the unit of its exponent fit each other here?"
        if kind == "unmasked" or any(what.endswith("without the mask") for _, what in self.besides):
            return "Which pairs of query and key must be hidden in this tile?"
        stale = [name for name, what in self.besides if what.startswith("still that of")]
        if stale:
            return f"At which step must `{stale[0]}` begin anew?"
        if kind == "bare":
            return "What is subtracted from S in the exponent here, and where does it come from?"
        if kind == "another unit":
            return (
                "A sum of exponentials is relative to what was subtracted. Before two of them are added, "
                "which factor brings each to the same maximum?"
            )
        if self.loads == "made" and kind != "place":
            return (
                "Two things make what is loaded here: what was stored before, and the address of this load. "
                "Check both."
            )
        if self.loads:
            return (
                f"Do the offsets of batch and head, the strides and the mask of this load fit "
                f"{self.quantity}? Parts of the address may be computed before this line."
            )
        return (
            f"Compare this line with what {self.quantity} is made of. If it is meant to be something else, "
            "which line makes up for that?"
        )

    def _what(self) -> str:
        """What the value is or is not, and what it was made of."""
        own = "" if self.stored else self.variable
        agrees = tuple(name for name in self.agrees if not self.stored or name != self.variable)
        verb = "is" if len(agrees) == 1 else "are"
        unsure = self.stored and self.quantity == "LSE"  # a guard may have changed them in rows without keys
        though = f", though {listed(agrees, own)} {verb} right" if agrees and not unsure else ""
        alike: dict[str, list[str]] = {}
        for name, what in self.besides:
            alike.setdefault(what, []).append(name)
        each = [
            f"{listed(tuple(names), own)} {_verb(what, len(names))} {what}" for what, names in alike.items()
        ]
        others = f"; here {listed_words(each)}" if each else ""
        kind = self.instead.kind if self.instead is not None else ""
        if kind == "unmasked":
            query, key = self.instead.pair
            return f"values for hidden keys, first for query {query} and key {key}"
        if kind == "multiple":
            right = f"; {self.times} times it would be right" if self.times else ""
            return f"{self.instead.factor} times {self.quantity}{though}{right}{others}"
        meant = f"{self.times} times {self.quantity}" if self.times else self.quantity
        if self.rows is not None:
            meant = f"rows {self.rows[0]} to {self.rows[1]} of {self.quantity}"
        if kind == "NaN":
            return f"NaN in some elements{others}"
        instead = str(self.instead or "")
        if kind == "another unit":
            return f"{self.instead.name}, which no line brings to the maximum m{others}"
        if kind == "power":
            return f"{self.instead.name}, not {meant}{though}{others}"
        return f"not {meant}{though}{others}" + (f": {instead}" if instead else "")

    def _subject(self) -> str:
        if self.loads:
            return f"what is loaded as `{self.variable}`" if self.variable else "what is loaded"
        if not self.variable:
            return "the value that is stored" if self.stored else "the tile"
        return f"`{self.variable}` as it is stored" if self.stored else f"`{self.variable}`"


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
        if finding.sentence.startswith("There are two mistakes"):  # it has named them
            return Wording(joined(finding.sentence, _one_shows(departure)), finding.next_step)
        named = isinstance(finding.kind, Declared) and not finding.partial
        if named and isinstance(departure.kind, TwoDivergences):  # one mistake gives all the numbers
            shown = " ".join(part.sentence for part in departure.parts)
            return Wording(f"{finding.sentence} It shows in two lines. {shown}", finding.next_step)
        return Wording(f"{finding.sentence} {departure.sentence}", finding.next_step)


def _one_shows(departure: Finding) -> str:
    """Where one of two mistakes is seen first: of which of them the line is, is not known."""
    line = getattr(departure.kind, "line", 0)  # of two departures, each has one
    return f"At least one of the two mistakes shows in line {line}." if line else ""


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


@dataclass(frozen=True)
class TwoDivergences(FindingKind):
    """Two statements that depart, neither because of the other: with both values right, all outputs are."""

    name = "two divergences"
    called = ("first divergence",)
    locates = True
    knows_lines = True

    parts: tuple[Finding, ...]

    def wording(self) -> Wording:
        """One after the other."""
        first, second = self.parts
        return Wording(
            f"There are two mistakes. (1) {first.sentence} (2) {second.sentence}",
            labelled(("1", first.next_step), ("2", second.next_step)),
        )


def _verb(what: str, count: int) -> str:
    """Between names and what is said of them: a value without the mask may have met a wrong one."""
    if what.endswith("without the mask"):
        return f"{'has' if count == 1 else 'have'} the numbers of"
    return "is" if count == 1 else "are"


def listed(names: tuple[str, ...], made: str = "") -> str:
    """The names in words; the name that the statement itself assigns was read with its old value."""
    quoted = [f"the old `{name}`" if name == made else f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))


def tile_words(tile: Tile, side: str) -> str:
    """A tile by its numbers along the axes, or the block of one side by its number."""
    if len(tile) == 1 and side:
        return f"block {tile[0]} of the {side}"
    return f"tile ({', '.join(map(str, tile))})" if len(tile) > 1 else f"tile {tile[0]}" if tile else "a tile"
