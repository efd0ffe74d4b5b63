"""The facts of a departure: where everything still agreed, and what came out instead of what."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from flashlearn.explaining.divergence.matching import HIDDEN, Reading, oriented, value_of
from flashlearn.explaining.divergence.search import Departure, Goal
from flashlearn.explaining.findings.first_divergence import FirstDivergence, Instead, PaddingCounts
from flashlearn.quantity import Quantities, Quantity

CLOSE = 1e-4  # relative: a description of what came out instead must fit as well as rounding lets it
AXES = ("q", "i", "k")
SHARES = {"acc": ("P V", "A B"), "l": ("sum of a tile",), "m": ("max of a tile",)}


def tile_of(reading: Reading) -> tuple[int, ...]:
    """The tile's number along the queries and along the keys, of those axes on which its place is known."""
    at, blocks = reading.window.at, reading.blocks
    return tuple(at[a].start // (blocks[a] or 1) for a in AXES if a in at)


def agreeing(found: Departure, quantities: Quantities, multiple: bool = False) -> tuple[str, ...]:
    """Names that the statement read and whose values are right inputs, or right for what it should make.

    Where it makes a `multiple` of its goal, a name with the goal itself, up to a factor, is none of these:
    that factor is what is wrong.
    """
    goal = found.goal.quantity
    wanted = quantities.made_of.get(goal.name)

    def fits(quantity: Quantity) -> bool:
        if multiple and quantity.name in (goal.name, f"running {goal.words}"):
            return False
        return wanted is None or quantity.name in wanted or quantity.kind == "input"

    named = (o for o in found.operands if o.event.site.name and any(fits(m.quantity) for m in o.firm))
    return tuple(dict.fromkeys(o.event.site.name for o in named))


def divergence(found: Departure, quantities: Quantities) -> FirstDivergence:
    """The last tile in which all was right, the statement, what it should make, and what it made instead."""
    reading = found.reading
    before, instead = _before(found), _instead(found, quantities)
    if before is not None and before >= tile_of(reading):
        before = None  # another head's, or another program's: that everything agrees there says nothing
    return FirstDivergence(
        variable=reading.event.site.name,
        line=reading.event.site.line,
        stored=_stored(reading),
        tile=tile_of(reading),
        before=before,
        quantity=found.goal.quantity.words,
        rows=_rows(reading, found.goal.quantity),
        agrees=agreeing(found, quantities, multiple=instead is not None and instead.kind == "multiple"),
        instead=instead,
    )


def padding(found: Departure) -> PaddingCounts:
    """The name whose padding counts, where it was made, and the statement in whose sum it counts."""
    source, counted = found.padded.event.site, found.reading.event.site
    return PaddingCounts(source.name, source.line, tile_of(found.reading), counted.name, counted.line)


def _rows(reading: Reading, quantity: Quantity) -> tuple[int, int] | None:
    """The first and the last row that a load of an input should have brought."""
    if quantity.kind == "input" and "d" in quantity.axes:
        rows = reading.window.at[quantity.axes[0]]
        return rows.start, rows.stop - 1
    return None


def _before(found: Departure) -> tuple[int, ...] | None:
    """The last tile before this one, if all that was known until then was right."""
    own, last = found.reading, None
    for reading in found.readings.values():
        if reading.event.number >= own.event.number:
            break
        if reading.window is None or reading.event.launch != own.event.launch:
            continue
        if not reading.right:
            return None
        tile = tile_of(reading)
        if len(tile) == len(tile_of(own)) and tile != tile_of(own) and reading.matches:
            last = tile
    return last


def _instead(found: Departure, quantities: Quantities) -> Instead | None:
    """What came out instead, where that is one of the usual things and fits by value."""
    reading = found.reading
    got, right = _tiles(reading, found.goal)
    if got is None:
        return None
    if right.dtype == bool:
        wrong = np.argwhere(got != right)[0]
        query, key = (int(n + reading.window.at[a].start) for n, a in zip(wrong, ("q", "k"), strict=True))
        return Instead("key shown" if got[tuple(wrong)] else "key hidden", pair=(query, key))
    kinds = {match.quantity.kind for match in reading.matches}
    if kinds & {"unscaled", "unmasked"}:
        return Instead("unscaled" if "unscaled" in kinds else "unmasked")
    if np.isnan(got).any():
        return Instead("NaN")
    if found.goal.quantity.name == "S" and (instead := _other_keys(got, right, found)) is not None:
        return instead
    right = right * found.goal.factor if found.goal.factor != 1.0 else right
    for instead, other in _usual(found, quantities):
        if other is not None and other.shape == got.shape and _fits(got, other):
            return instead
    ratio = _ratio(got, right)
    return Instead("multiple", ratio=ratio) if ratio is not None else None


def _other_keys(got: np.ndarray, right: np.ndarray, found: Departure) -> Instead | None:
    """A key that scores hide and should not, or show; None if they differ in their numbers too."""
    hidden, wanted = got <= HIDDEN, right == -np.inf
    both = ~hidden & ~wanted
    if (
        np.array_equal(hidden, wanted)
        or not both.any()
        or not _fits(got[both], found.goal.factor * right[both])
    ):
        return None
    at = np.argwhere(hidden != wanted)[0]
    query, key = (
        int(n + found.reading.window.at[axis].start) for n, axis in zip(at, ("q", "k"), strict=True)
    )
    return Instead("key hidden" if hidden[tuple(at)] else "key shown", pair=(query, key))


def _usual(found: Departure, quantities: Quantities) -> Iterator[tuple[Instead, np.ndarray]]:
    """What often comes out instead, and the numbers that it would be."""
    reading, name = found.reading, found.goal.quantity.name
    known = {q.name: q for q in reversed(quantities.known) if q.kind != "unmasked"}
    of = {n: value_of(q, reading.window) for n, q in known.items() if q.axes == found.goal.quantity.axes}
    if name == "dS" and of.get("P") is not None and of.get("dP") is not None:
        yield Instead("without delta"), found.goal.factor * of["P"] * of["dP"]
    for share in (*SHARES.get(name, ()), f"share of {name}"):
        if of.get(share) is not None:
            yield Instead("share"), found.goal.factor * of[share]
    brought, right = of.get(f"{name} brought to the new maximum"), of.get(name)
    old = next((o for o in found.operands if any(m.quantity.name == name for m in o.matches)), None)
    if brought is not None and old is not None:
        previous, _ = _tiles(old, found.goal)
        if previous is not None and previous.shape == right.shape:
            yield Instead("not rescaled", name=old.event.site.name), right - brought + previous


def _tiles(reading: Reading, goal: Goal) -> tuple[np.ndarray | None, np.ndarray | None]:
    """What came out, and what should have, over the entries that exist."""
    quantity, turned = goal.quantity, goal.turned
    right = value_of(quantity, reading.window)
    fitting = oriented(reading.event.array, quantity.axes, reading.window, reading.blocks)
    view = next((v for v, _, flipped in fitting if flipped == turned), None)
    if right is None or view is None:
        return None, None
    view = view.reshape(right.shape)
    return (view if right.dtype == bool else view.astype(np.float64)), right


def _fits(got: np.ndarray, other: np.ndarray) -> bool:
    cared = np.isfinite(other)
    if not cared.any() or not np.isfinite(got[cared]).all():
        return False
    return bool(np.abs(got[cared] - other[cared]).max() <= CLOSE * np.abs(other[cared]).max())


def _ratio(got: np.ndarray, right: np.ndarray) -> float | None:
    """The one number by which all entries are too large, if there is one."""
    cared = np.isfinite(right) & np.isfinite(got)
    if not np.array_equal(got[~cared], right[~cared], equal_nan=True):
        return None
    got, right = got[cared], right[cared]
    if right.size < 3 or not np.abs(right).max() > 0:
        return None
    ratio = float(got @ right / (right @ right))
    if abs(ratio - 1) <= CLOSE:
        return None
    fits = abs(ratio) > CLOSE and np.abs(got - ratio * right).max() <= CLOSE * np.abs(ratio * right).max()
    return ratio if fits else None


def _stored(reading: Reading) -> bool:
    return reading.event.site.kind in ("store", "atomic")
