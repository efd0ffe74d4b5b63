"""The first value that departs: where everything still agreed, and what came out instead of what."""

from __future__ import annotations

from flashlearn.explaining.divergence.facts import Instead
from flashlearn.explaining.wording.kinds import Wording, joined, kind

Tile = tuple[int, ...]


@kind("first divergence")
def first_divergence(
    name: str,
    line: int,
    stored: bool,
    tile: Tile,
    before: Tile | None,
    quantity: str,
    rows: tuple[int, int] | None,
    agrees: tuple[str, ...],
    instead: Instead | None,
) -> Wording:
    """One or two sentences about a statement whose value is wrong, though what it was made of is right."""
    where = f"in tile {_shown(tile)}, line {line}, {_subject(name, stored)}"
    listed = _listed(agrees, "" if stored else name)
    though = f", though {listed} {'is' if len(agrees) == 1 else 'are'} right" if agrees else ""
    start = f"Through tile {_shown(before)} everything agrees; " if before is not None else ""
    meant = f"rows {rows[0]} to {rows[1]} of {quantity}" if rows is not None else quantity
    what = f"not {meant}{though}"
    if instead is not None and instead.kind == "unmasked":
        what = f"{meant} without the mask: hidden keys have numbers in it like any other"
    elif instead is not None and instead.kind == "multiple":
        what = f"{instead.ratio:.4g} times {meant}{though}"
    sentence = f"{start}{where} is {what}."
    return Wording(
        joined(sentence[0].upper() + sentence[1:], _instead(instead) if instead is not None else ""),
        f"Compare this line with what {quantity} is made of.",
    )


@kind("padding counts")
def padding_counts(name: str, line: int, tile: Tile, total: str, total_line: int) -> Wording:
    """Right numbers, and beyond them something that a later sum counts; with nothing there all is right."""
    into = f"`{total}` in line {total_line}" if total else f"the sum in line {total_line}"
    return Wording(
        f"`{name}`, made in line {line}, is right for what exists; but what it holds beyond that counts in "
        f"{into}, in tile {_shown(tile)}.",
        "What must the padding hold so that it adds nothing: 0 in a sum, −∞ in front of a maximum or an "
        "exponential?",
    )


def _subject(name: str, stored: bool) -> str:
    if not name:
        return "the value that is stored" if stored else "the tile"
    return f"`{name}` as it is stored" if stored else f"`{name}`"


def _instead(instead: Instead) -> str:
    query, key = instead.pair
    return {
        "key shown": f"It shows key {key} to query {query}.",
        "key hidden": f"It hides key {key} from query {query}.",
        "unscaled": "It is Q Kᵀ without alpha, and alpha does not come later.",
        "unmasked": "",
        "NaN": "It holds NaN.",
        "without delta": "It is P ∘ dP: delta is not subtracted.",
        "share": "It holds this tile's share alone.",
        "not rescaled": f"The old `{instead.name}` was not rescaled when the maximum moved.",
        "multiple": "",
    }[instead.kind]


def _listed(names: tuple[str, ...], made: str) -> str:
    """The names in words; what the statement makes anew was read in its old value."""
    quoted = [f"the old `{name}`" if name == made else f"`{name}`" for name in names]
    return " and ".join(filter(None, (", ".join(quoted[:-1]), *quoted[-1:])))


def _shown(tile: Tile) -> str:
    return f"({', '.join(map(str, tile))})" if len(tile) > 1 else str(tile[0]) if tile else "()"
