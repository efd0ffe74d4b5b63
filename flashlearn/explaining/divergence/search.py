"""Find the statement that departs first, and prove it: with its right value in place, the outputs are right.

A statement is a candidate where what it makes is no known quantity although everything it was made of is.
Many a right kernel has such statements, since no list of quantities is complete. So each candidate is tried:
the launcher runs again with the right value in the statement's place, in every tile. Only if all outputs
come out right then is it said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from flashlearn.explaining.divergence.matching import (
    WEAK,
    Reading,
    is_mask,
    oriented,
    read,
    value_of,
    vanishing,
    views,
)
from flashlearn.explaining.divergence.replay import Replay
from flashlearn.explaining.divergence.windows import is_tile
from flashlearn.interpreter.observers.assigned_values import Site
from flashlearn.quantity import Quantities, Quantity

Instead = dict[int, np.ndarray]
MOST_TRIED = 6  # quantities for one statement
FINISHED_BY = ("S", "P", "P of the whole row")
"""What may be made of scores or weights that still lack alpha or the mask."""

MOST_STEPS = 3
"""Statements that may be wrong one after the other, as l and acc are without rescaling."""


@dataclass(frozen=True)
class Goal:
    """What a statement should make: a multiple of a quantity, transposed or not."""

    quantity: Quantity
    factor: float
    turned: bool


@dataclass(frozen=True)
class Departure:
    """The first reading at which a statement departs, and what it should have been.

    `padded` is what it was made of, if that holds right numbers and beyond them something that counts in a
    sum, and nothing else is wrong.
    """

    reading: Reading
    goal: Goal
    operands: tuple[Reading, ...]
    padded: Reading | None
    readings: Mapping[int, Reading]


@dataclass(frozen=True)
class _Candidate:
    reading: Reading
    operands: tuple[Reading, ...]
    expected: tuple[Goal, ...]
    before: bool
    kind: str  # "unscaled", "departs" or "unmasked"

    def allows(self, goal: Goal) -> bool:
        """False if what the statement read is no step to the goal: unfinished, beyond it, a multiple."""
        beyond = f"running {goal.quantity.words}"
        for operand in self.operands:
            if operand.matches and not operand.firm and goal.quantity.name not in FINISHED_BY:
                return False  # it lacks a mask, or alpha: the statement that should have applied it is wrong
            if goal.quantity.kind == "output" and any(m.quantity.name == beyond for m in operand.matches):
                return False  # it is the goal already, and the statement may only undo an earlier one
            if goal.quantity.axes == ("q",) and self._holds(operand, goal):
                return False  # one number per row that is there already
            same = [m.factor for m in operand.matches if m.quantity.name == goal.quantity.name]
            if same and not any(np.isclose(factor, goal.factor) for factor in same):
                return False
            if goal.quantity.kind == "output" and not _finished(operand):
                return False
        return True

    def _holds(self, operand: Reading, goal: Goal) -> bool:
        """True if an operand has the goal's value, where the statement is."""
        right = value_of(goal.quantity, self.reading.window)
        if right is None or operand.event.array.size < right.size or not np.isfinite(right).all():
            return False
        array = operand.event.array.reshape(-1)[: right.size]
        return bool(np.allclose(array, goal.factor * right.reshape(-1), 1e-5, 1e-6))


def first_departure(replay: Replay, quantities: Quantities) -> Departure | None:
    """The statement that departs first, proved by putting it right; None if there is none for sure."""
    return _search(replay, quantities, {}, MOST_STEPS)


def _search(replay: Replay, quantities: Quantities, instead: Instead, steps: int) -> Departure | None:
    recorded = replay.record(instead)
    if recorded is None or recorded[1]:
        return None
    readings = read(recorded[0], quantities)
    candidates = list(_candidates(readings, quantities, set(instead)))
    for kind in ("unscaled", "departs", "unmasked"):
        chosen = [c for c in candidates if c.kind == kind]
        for candidate in reversed(chosen) if kind == "unmasked" else chosen:
            for goal in filter(candidate.allows, candidate.expected):
                more = {**instead, **_put_right(candidate.reading.event.site, goal, readings)}
                tried = replay.record(more)
                if tried is not None and tried[1]:
                    return _departure(candidate, goal, readings, replay, instead)
    first = next((c for c in candidates if c.kind == "departs"), None)
    if first is None or not first.before or steps == 1:
        return None
    goal = first.expected[0]
    if not first.allows(goal):
        return None
    more = {**instead, **_put_right(first.reading.event.site, goal, readings)}
    found = _search(replay, quantities, more, steps - 1)
    return _departure(first, goal, readings, replay, instead) if found is not None else None


def _departure(
    candidate: _Candidate, goal: Goal, readings: dict[int, Reading], replay: Replay, instead: Instead
) -> Departure | None:
    """The departure where the statement first makes something else; None if what it read is not right."""
    reading = next(
        r
        for r in readings.values()
        if r.event.site == candidate.reading.event.site
        and r.event.number <= candidate.reading.event.number
        and (r is candidate.reading or _other_than(r, goal))
    )
    operands = tuple(readings[n] for n in reading.event.operands)
    if not all(_right_for(o, reading) for o in operands):
        return None
    if any(_by_chance(o, goal) or _unknown(o) for o in operands):
        return None
    lost = {"q", "k"} - set(goal.quantity.axes) if goal.quantity.kind != "input" else set()
    padded = None
    for operand in operands:
        for source in _sources(operand, lost, readings):
            tried = replay.record({**instead, **_cleaned(source.event.site, lost, readings)})
            if tried is None:
                return None  # whether the padding is the cause is not known
            if tried[1]:
                padded = source
    return Departure(reading, goal, operands, padded, readings)


def _unknown(operand: Reading) -> bool:
    """True for a vector from memory that is nothing known: it may be another head's, or another row's."""
    array = operand.event.array
    loaded = "load(" in operand.event.text and array.dtype.kind == "f" and array.size > 1
    return loaded and not operand.matches and not is_tile(array)


def _by_chance(operand: Reading, goal: Goal) -> bool:
    """True for one number that represents nothing yet, and is right only as another sum's beginning."""
    array = operand.event.array
    if array.size != 1 or array.dtype.kind != "f" or array.item() != 0.0 or not operand.firm:
        return False
    return goal.quantity.axes == ("q", "k") and all(m.quantity.axes == ("q",) for m in operand.firm)


def _other_than(reading: Reading, goal: Goal) -> bool:
    """True for a reading whose place is known, and which is not the goal."""
    names = {m.quantity.name for m in reading.firm}
    return reading.window is not None and bool(names) and goal.quantity.name not in names


def _sources(reading: Reading, lost: set[str], readings: dict[int, Reading]) -> list[Reading]:
    """An operand whose padding would count, and before it the one that put it there: a load, or the scores.

    The last of them that has a name is the cause.
    """
    found, at = [], reading
    while at is not None and at.unclean & lost:
        tiles = [readings[n] for n in at.event.operands if is_tile(readings[n].event.array)]
        scores = any(
            m.quantity.kind == "input" or (m.quantity.name == "S" and m.quantity.kind != "unscaled")
            for m in at.matches
        )
        if at.event.site.name and (at is reading or scores or not tiles):
            found.append(at)
        if scores:
            break
        at = next((r for r in tiles if r.unclean & lost), None)
    return found


def _candidates(
    readings: dict[int, Reading], quantities: Quantities, replaced: set[int]
) -> Iterator[_Candidate]:
    """One for each site that departs, where it does so first, in the order in which they run."""
    carried: dict[Site, Goal] = {}
    overwritten = _overwritten(readings)
    done: set[Site] = {readings[n].event.site for n in replaced if n in readings}
    diverged: set[tuple] = set()  # programs in which something before was not right
    for reading in readings.values():
        event, site = reading.event, reading.event.site
        if not reading.right and site.kind != "store":
            diverged.add((event.launch, event.program))
        if site in done or reading.window is None or not _speaks(reading):
            continue
        if reading.firm:
            match = reading.firm[0]
            if match.sure:
                carried.setdefault(site, Goal(match.quantity, match.factor, match.turned))
            continue
        operands = tuple(readings[n] for n in event.operands)
        if site.kind == "store" and (event.launch, event.program) in diverged:
            continue
        if not all(_right_for(o, reading) for o in operands) or reading.near:
            continue
        if reading.matches and event.number in overwritten:
            continue  # it is judged at its last value
        tiles = [o for o in operands if o.matches]
        if not tiles and any(is_tile(o.event.array) for o in operands):
            continue
        if not is_tile(event.array) and not tiles and not is_mask(reading):
            continue  # where a sum begins
        elsewhere = {goal.quantity.name for other, goal in carried.items() if other != site}
        expected = _possible(reading, operands, quantities, elsewhere)
        rights = [value_of(goal.quantity, reading.window) for goal in expected]
        if vanishing(event.array, [o.event.array for o in operands], rights):
            continue
        done.add(site)
        before = site in carried
        kind = reading.matches[0].quantity.kind if reading.matches else "departs"
        if before and kind == "departs":
            expected = [carried[site], *(goal for goal in expected if goal != carried[site])]
        yield _Candidate(reading, operands, tuple(expected), before, kind)


def _right_for(operand: Reading, reader: Reading) -> bool:
    """True if nothing is wrong with an operand; what comes from an earlier round must know all of that."""
    if not operand.right or not operand.matches or operand.event.scope == reader.event.scope:
        return operand.right
    if len(operand.event.scope) < len(reader.event.scope):
        return True  # from before the loop
    whole = replace(operand.window, before=operand.window.seen)
    array = operand.event.array
    for match in operand.matches:
        right = value_of(match.quantity, whole)
        fitting = oriented(array, match.quantity.axes, whole, operand.blocks)
        for view, _, turned in fitting if right is not None else ():
            if turned != match.turned:
                continue
            got, wanted = view.reshape(right.shape), match.factor * right if right.dtype != bool else right
            if np.allclose(got, wanted, 1e-4, 1e-5, equal_nan=True):
                return True
    return False


def _overwritten(readings: dict[int, Reading]) -> set[int]:
    """Events whose name another statement gives a new value, of the same shape, in the same round."""
    last: dict[tuple, Reading] = {}
    found = set()
    for reading in readings.values():
        event = reading.event
        if event.site.kind != "assign":
            continue
        key = (event.launch, event.program, event.scope, event.site.name)
        earlier = last.get(key)
        again = earlier is not None and earlier.event.site != event.site
        if again and earlier.event.array.shape == event.array.shape:
            found.add(earlier.event.number)
        last[key] = reading
    return found


def _finished(reading: Reading) -> bool:
    """True unless a value is a sum so far that lacks some of what belongs to it."""
    if not reading.matches:
        return True
    everything = {axis: np.ones_like(seen) for axis, seen in reading.window.seen.items()}
    whole = replace(reading.window, seen=everything, before=everything)
    for match in reading.matches:
        now, then = (value_of(match.quantity, w) for w in (reading.window, whole))
        if now is not None and then is not None and np.allclose(now, then, 1e-9, 1e-9, equal_nan=True):
            return True
    return False


def _speaks(reading: Reading) -> bool:
    """True for a value that can be compared: numbers, or a mask over pairs."""
    kind = reading.event.array.dtype.kind
    return kind not in "iu" and (kind != "b" or is_mask(reading) or bool(reading.matches))


def _possible(
    reading: Reading, operands: tuple[Reading, ...], quantities: Quantities, elsewhere: set[str]
) -> list[tuple[Quantity, float]]:
    """What a statement may have been meant to make, the likeliest first: its shape, of such operands."""
    used = {m.quantity.name for o in operands for m in o.matches}
    wanted = {m.quantity.name for m in reading.matches}
    if reading.matches and reading.matches[0].quantity.kind == "unscaled":
        wanted = {"S"}
    turned = any(m.turned for o in operands for m in o.matches if m.quantity.axes == ("q", "k"))
    found: dict[tuple[str, float, bool], tuple[float, Goal]] = {}
    for quantity in quantities.known:
        if not _suits(reading, quantity, bool(used)) or (wanted and quantity.name not in wanted):
            continue
        made_of = quantities.made_of.get(quantity.name, ())
        likely = len(used & set(made_of)) / len(used | set(made_of)) if made_of else 0.0
        if used and not likely and quantity.name != "visible" and not wanted:
            continue
        likely -= quantity.name in elsewhere
        for _, _, flipped in oriented(reading.event.array, quantity.axes, reading.window, reading.blocks):
            for factor in quantity.factors:
                goal = Goal(quantity, factor, flipped)
                unlike = quantity.axes == ("q", "k") and flipped != turned
                found.setdefault((quantity.name, factor, flipped), (likely - 0.1 * unlike, goal))
    return [goal for _, goal in sorted(found.values(), key=lambda pair: -pair[0])][:MOST_TRIED]


def _suits(reading: Reading, quantity: Quantity, computed: bool) -> bool:
    """True if a statement of this kind and shape may make the quantity at all."""
    event, kind = reading.event, quantity.kind
    final = event.site.kind == "store" or not event.scope
    if kind in WEAK or (kind == "output" and not final) or (event.site.kind == "store" and kind != "output"):
        return False
    if (quantity.name == "visible") != (event.array.dtype.kind == "b"):
        return False
    if quantity.name not in ("visible", "delta") and (kind == "input") == computed:
        return False
    right = value_of(quantity, reading.window)
    fitting = views(event.array, quantity.axes, reading.window, reading.blocks)
    return right is not None and next(fitting, None) is not None


def _put_right(site: Site, goal: Goal, readings: dict[int, Reading]) -> Instead:
    """The right value for every event of a site whose place is known; the padding stays the kernel's own."""
    instead = {}
    for reading in readings.values():
        if reading.event.site != site or reading.window is None:
            continue
        right = value_of(goal.quantity, reading.window)
        array = reading.event.array.astype(np.float64)
        for view, _, turned in oriented(array, goal.quantity.axes, reading.window, reading.blocks):
            if right is None or turned != goal.turned:
                continue
            wanted = right.reshape(view.shape).astype(np.float64)
            with np.errstate(invalid="ignore"):
                wanted = wanted * goal.factor if goal.factor != 1.0 else wanted
            own = np.where(np.isnan(view) | (view == np.inf), 0.0, view)
            view[...] = np.where(np.isnan(wanted), own, wanted)
            instead[reading.event.number] = array
    return instead


def _cleaned(site: Site, lost: set[str], readings: dict[int, Reading]) -> Instead:
    """A site's own values, with padding that adds nothing to a sum along the axes `lost`."""
    instead = {}
    for reading in readings.values():
        if reading.event.site != site or not reading.unclean & lost:
            continue
        match = reading.matches[0]
        array = reading.event.array.astype(np.float64)
        tile = array.T if match.turned else array
        real = [axis for axis in match.quantity.axes if reading.blocks.get(axis) is not None]
        for position, axis in enumerate(real):
            if axis in lost:
                at = reading.window.at[axis]
                np.moveaxis(tile, position, 0)[at.stop - at.start :] = match.quantity.padding
        instead[reading.event.number] = array
    return instead
