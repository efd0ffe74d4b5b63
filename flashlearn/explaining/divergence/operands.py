"""What a statement was made of: right is only what is the quantity itself, and belongs there.

A multiple of it, its transpose beside tiles that are not, padding that a sum counts, and another quantity are
no right operands: they are said as what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flashlearn.explaining.divergence.goals import Goal, compared, differs
from flashlearn.explaining.divergence.matching import WEAK, Match, Reading, value_of
from flashlearn.quantity import Quantities, Quantity, Window

EXPONENTIALS = ("P", "P of the whole row", "rescale", "p")
"""What is made by an exponential: a factor in the exponent is no factor of it."""


@dataclass(frozen=True)
class Operand:
    """A value that a statement read, by `role`.

    "right", "multiple" (a right one times a factor), "turned" (transposed beside others that are not),
    "padded" (with padding that the statement sums), "other" (another quantity), "new" (the new maximum in
    place of the old one), "stale" (the old value of what is made, from another place) or "unknown".
    """

    reading: Reading
    role: str
    match: Match | None = None


def lost_axes(reading: Reading, goal: Goal) -> list[str]:
    """The axes along which a statement sums: those that its goal lacks; the goal's own, if it sums inside."""
    if goal.quantity.kind == "input":
        return []
    inner = goal.quantity.axes == ("q", "k")
    axes = [axis for axis in reading.window.at if axis != "d" or inner]
    own = [axis for axis in axes if axis in goal.quantity.axes]
    lost = [axis for axis in axes if axis not in own]
    return [*lost, *own] if reading.event.site.sums and not lost else lost


def roles(reading: Reading, goal: Goal, operands: Sequence[Reading], quantities: Quantities) -> list[Operand]:
    """Each operand that has a name, with its role in a statement that should make the goal."""
    needed = needed_for(reading, goal, operands, quantities)
    found = [_role(o, reading, goal, needed) for o in operands if o.event.site.name]
    maxima = [o for o in found if o.match is not None and o.match.quantity.name == "m"]
    if goal.quantity.name == "rescale" and maxima and not any(_is_old(o, reading) for o in maxima):
        return [Operand(o.reading, "new", o.match) if o in maxima else o for o in found]
    return found


def needed_for(reading: Reading, goal: Goal, operands: Sequence[Reading], quantities: Quantities) -> set[str]:
    """Names of the quantities of which the goal is made; for one that was not read, what that is made of.

    It must be made in this statement: of two that were read at least, and with an exponential where it is
    one.
    """
    made_of = quantities.made_of
    present = {_alias(m.quantity) for o in operands for m in o.matches}
    exponential = "exp" in reading.event.text

    def covered(name: str, asked: frozenset[str]) -> bool:
        if name in present:
            return True
        if name in asked or (name in EXPONENTIALS and not exponential):
            return False
        parts = {part for part in made_of.get(name, ()) if part != name}
        made = sum(covered(part, asked | {name}) for part in parts)
        return made >= min(2, len(parts)) > 0

    needed: set[str] = set()
    waiting = [goal.quantity.name]
    while waiting:
        for part in made_of.get(waiting.pop(), ()):
            if part in needed:
                continue
            needed.add(part)
            if part not in present and part != goal.quantity.name and covered(part, frozenset()):
                waiting.append(part)
    return needed


def _role(operand: Reading, reader: Reading, goal: Goal, needed: set[str]) -> Operand:
    if not operand.matches:
        return Operand(operand, "unknown")
    firm = [m for m in operand.matches if _belongs(m, needed, goal)]
    firm = [m for m in firm if m.sure] or firm  # not a tile of zeros, where it is another quantity for sure
    if not firm:
        return Operand(operand, "other", (*operand.firm, *operand.matches)[0])
    only = all(m.quantity.name == goal.quantity.name for m in firm)
    if operand.event.site.name == reader.event.site.name and elsewhere(operand, reader, goal):
        return Operand(operand, "stale", firm[0])
    if only and goal.quantity.needs and _is_goal_already(operand, reader, goal):
        return Operand(operand, "unknown")
    lost = set(lost_axes(reader, goal))
    straight = [m for m in firm if not _is_turned(operand, m, reader, goal)]
    if not straight:
        return Operand(operand, "turned", firm[0])
    if all(m.quantity.kind == "unmasked" for m in straight):
        return Operand(operand, "other", straight[0])
    if not (single := [m for m in straight if _fits(m, goal)]):
        return Operand(operand, "multiple", straight[0])
    if all(m.unclean & lost for m in single):
        return Operand(operand, "padded", single[0])
    if single[0].quantity.name == "visible":
        return Operand(operand, "unknown", single[0])
    return Operand(operand, "right", single[0])


def elsewhere(operand: Reading, reader: Reading, goal: Goal) -> str:
    """The axis along which a value belongs to another place than what should be made of it; "" for none."""
    if operand.window is None or reader.window is None:
        return ""
    one, other = operand.window.at, reader.window.at
    return next((a for a in goal.quantity.axes if a in one and a in other and one[a] != other[a]), "")


def _alias(quantity: Quantity) -> str:
    """The name under which others are made of it: scores that are given are S."""
    return "S" if quantity.kind == "input" and quantity.name in ("s", "x") else quantity.name


def _belongs(match: Match, needed: set[str], goal: Goal) -> bool:
    """True for a step to the goal; what lacks alpha or the mask is none if it is the goal otherwise."""
    name = _alias(match.quantity)
    return (name in needed or name == "visible") and (
        match.quantity.kind not in WEAK or name != goal.quantity.name
    )


def _fits(match: Match, goal: Goal) -> bool:
    """True for the quantity itself, or the same multiple of it that the goal is."""
    linear = goal.quantity.name not in EXPONENTIALS
    return match.factor == 1.0 or (linear and np.isclose(match.factor, goal.factor))


def _is_turned(operand: Reading, match: Match, reader: Reading, goal: Goal) -> bool:
    """True if a tile of the goal's axes meets the others entry by entry, and lies the other way round."""
    if (
        operand.event.site.name not in reader.event.site.pointwise
        or match.quantity.axes != goal.quantity.axes
    ):
        return False
    two = sum(reader.blocks.get(axis) is not None for axis in match.quantity.axes) == 2
    return two and match.turned != goal.turned


def _is_goal_already(operand: Reading, reader: Reading, goal: Goal) -> bool:
    """True for a sum so far that counts the present tile already, where that makes a difference."""
    if all(m.quantity.name != goal.quantity.name for m in operand.firm):
        return False
    there = replace(reader, event=operand.event)
    before = value_of(goal.quantity, _before(reader))
    got, right = compared(there, goal)
    if got is None or before is None or np.allclose(before, right, equal_nan=True):
        return False
    return not differs(there, goal)


def _is_old(operand: Operand, reader: Reading) -> bool:
    """True for a maximum of what was visited before the reader's tile."""
    array = operand.reading.event.array
    old = value_of(operand.match.quantity, _before(reader))
    if old is None or array.size < old.size:
        return False
    got, known = array.reshape(-1)[: old.size].astype(np.float64), np.isfinite(old.reshape(-1))
    wanted = operand.match.factor * old.reshape(-1)
    return bool(np.allclose(got[known], wanted[known], 1e-5, 1e-6))


def _before(reading: Reading) -> Window:
    """The window before the present tile."""
    return replace(reading.window, seen=reading.window.before)
