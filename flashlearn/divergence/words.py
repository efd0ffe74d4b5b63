"""The sentence for a departure: where everything still agreed, and what came out instead of what."""

from __future__ import annotations

import numpy as np

from flashlearn.divergence.matching import Reading, oriented, value_of
from flashlearn.divergence.search import Departure, Goal
from flashlearn.exercises.quantities import Quantities, Quantity

CLOSE = 1e-4  # relative: a description of what came out instead must fit as well as rounding lets it
AXES = ("q", "i", "k")
SHARES = {"acc": ("P V", "A B"), "l": ("sum of a tile",), "m": ("max of a tile",)}


def tile_of(reading: Reading) -> tuple[int, ...]:
    """The tile's number along the queries and along the keys, of those axes on which its place is known."""
    at, blocks = reading.window.at, reading.blocks
    return tuple(at[a].start // (blocks[a] or 1) for a in AXES if a in at)


def agreeing(found: Departure) -> tuple[str, ...]:
    """Names that the statement read and whose values are right quantities."""
    names = [o.event.site.name for o in found.operands if o.matches and o.event.site.name]
    return tuple(dict.fromkeys(names))


def said(found: Departure, quantities: Quantities) -> str:
    """One or two sentences: the last tile in which all was right, the statement, and what it made instead."""
    reading = found.reading
    name = reading.event.site.name
    subject = f"`{name}`" if name else "the value that is stored" if _stored(reading) else "the tile"
    if name and _stored(reading):
        subject = f"`{name}` as it is stored"
    where = f"in tile {_shown(tile_of(reading))}, line {reading.event.site.line}, {subject}"
    names, again = agreeing(found), "" if _stored(reading) else name
    though = f", though {_listed(names, again)} {'is' if len(names) == 1 else 'are'} right" if names else ""
    before = _before(found)
    if before is not None and before >= tile_of(reading):
        before = (
            None  # another head's, or another program's: «through tile (2, 0) … in tile (0, 0)» says nothing
        )
    start = f"Through tile {_shown(before)} everything agrees; " if before is not None else ""
    sentence = f"{start}{where} is not {_meant(reading, found.goal.quantity)}{though}."
    sentence = sentence[0].upper() + sentence[1:]
    return " ".join([sentence, *filter(None, (_instead(found, quantities), _padding(found)))])


def _meant(reading: Reading, quantity: Quantity) -> str:
    if quantity.kind == "input" and "d" in quantity.axes:
        rows = reading.window.at[quantity.axes[0]]
        return f"rows {rows.start} to {rows.stop - 1} of {quantity.words}"
    return quantity.words


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


def _instead(found: Departure, quantities: Quantities) -> str:
    """What came out instead, where that is one of the usual things and fits by value."""
    reading = found.reading
    got, right = _tiles(reading, found.goal)
    if got is None:
        return ""
    if right.dtype == bool:
        wrong = np.argwhere(got != right)[0]
        query, key = (int(n + reading.window.at[a].start) for n, a in zip(wrong, ("q", "k"), strict=True))
        done = f"shows key {key} to" if got[tuple(wrong)] else f"hides key {key} from"
        return f"It {done} query {query}."
    if reading.matches:
        weak = reading.matches[0].quantity
        if weak.kind == "unscaled":
            return "It is Q Kᵀ without alpha, and alpha does not come later."
        return "Hidden keys are not masked in it, nor later."
    if np.isnan(got).any():
        return "It holds NaN."
    right = right * found.goal.factor if found.goal.factor != 1.0 else right
    for words, other in _usual(found, quantities):
        if other is not None and other.shape == got.shape and _fits(got, other):
            return words
    ratio = _ratio(got, right)
    return f"It is {ratio:.4g} times that." if ratio is not None else ""


def _usual(found: Departure, quantities: Quantities):
    """Pairs of a sentence and the numbers that it would mean."""
    reading, name = found.reading, found.goal.quantity.name
    known = {q.name: q for q in reversed(quantities.known) if q.kind != "unmasked"}
    of = {n: value_of(q, reading.window) for n, q in known.items() if q.axes == found.goal.quantity.axes}
    if name == "dS" and of.get("P") is not None and of.get("dP") is not None:
        yield "It is P ∘ dP: delta is not subtracted.", found.goal.factor * of["P"] * of["dP"]
    for share in (*SHARES.get(name, ()), f"share of {name}"):
        if of.get(share) is not None:
            yield "It holds this tile's share alone.", found.goal.factor * of[share]
    brought, right = of.get(f"{name} brought to the new maximum"), of.get(name)
    old = next((o for o in found.operands if any(m.quantity.name == name for m in o.matches)), None)
    if brought is not None and old is not None:
        previous, _ = _tiles(old, found.goal)
        if previous is not None and previous.shape == right.shape:
            words = f"The old `{old.event.site.name}` was not rescaled when the maximum moved."
            yield words, right - brought + previous


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
    got, right = got[cared], right[cared]
    if right.size < 3 or not np.abs(right).max() > 0:
        return None
    ratio = float(got @ right / (right @ right))
    fits = abs(ratio) > CLOSE and np.abs(got - ratio * right).max() <= CLOSE * np.abs(ratio * right).max()
    return ratio if fits else None


def _padding(found: Departure) -> str:
    if not found.padded:
        return ""
    return f"`{found.padded}` is right for what exists, but what it holds beyond that counts in the sum."


def _stored(reading: Reading) -> bool:
    return reading.event.site.kind in ("store", "atomic")


def _listed(names: tuple[str, ...], made: str) -> str:
    """The names in words; what the statement makes anew was read in its old value."""
    quoted = [f"the old `{name}`" if name == made else f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def _shown(tile: tuple[int, ...]) -> str:
    return f"({', '.join(str(n) for n in tile)})" if len(tile) > 1 else str(tile[0]) if tile else "()"
