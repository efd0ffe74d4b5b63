"""Statements that may be the first to depart: what they make is no known quantity, though all they read is.

Many a right kernel has such statements, since no list of quantities is complete: each has to be tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from flashlearn.explaining.divergence.goals import Goal, Readings, differs
from flashlearn.explaining.divergence.matching import (
    WEAK,
    Reading,
    is_mask,
    oriented,
    value_of,
    vanishing,
    views,
)
from flashlearn.explaining.divergence.windows import is_tile
from flashlearn.interpreter.observers.assigned_values import Site
from flashlearn.quantity import Quantities, Quantity

MOST_TRIED = 6  # quantities for one statement
MOST_ALIKE = 5  # readings of one statement that are as good as what it may have been meant to make
FINISHED_BY = ("S", "P", "P of the whole row")
"""What may be made of scores or weights that still lack alpha or the mask."""


@dataclass(frozen=True)
class Candidate:
    """A statement at its first reading that is no known quantity, and what it may have been meant to make.

    `before` if it was right in an earlier tile; `kind` is "unscaled", "departs" or "unmasked".
    """

    reading: Reading
    operands: tuple[Reading, ...]
    expected: tuple[Goal, ...]
    before: bool
    kind: str

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


def candidates(readings: Readings, quantities: Quantities, replaced: set[int]) -> Iterator[Candidate]:
    """One for each site that departs, where it does so first, in the order in which they run."""
    carried: dict[Site, Goal] = {}
    overwritten = _overwritten(readings)
    alike: Counter[Site] = Counter()
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
        if not all(right_for(o, reading) for o in operands) or reading.near:
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
        before = site in carried
        kind = reading.matches[0].quantity.kind if reading.matches else "departs"
        if before and kind == "departs":
            expected = [carried[site], *(goal for goal in expected if goal != carried[site])]
        if expected and alike[site] < MOST_ALIKE and not any(differs(reading, goal) for goal in expected):
            alike[site] += 1
            continue  # no number is expected here, or this one will do
        done.add(site)
        yield Candidate(reading, operands, tuple(expected), before, kind)


def right_for(operand: Reading, reader: Reading) -> bool:
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


def _overwritten(readings: Readings) -> set[int]:
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
) -> list[Goal]:
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
