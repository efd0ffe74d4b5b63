"""Find the statement that departs first, and prove it: with its right value in place, the outputs are right.

A statement is a candidate where what it makes is no known quantity although everything it was made of is.
Each candidate is tried: the launcher runs again with the right value in the statement's place, in every tile.
Only if all outputs come out right then is it said; and if an earlier value that was right only up to
something is all that is wrong, that value is said instead.
"""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.explaining.divergence.candidates import Candidate, candidates, right_for
from flashlearn.explaining.divergence.causes import Cause, Trials, Unknown
from flashlearn.explaining.divergence.goals import Goal, Instead, Readings, differs, put_right
from flashlearn.explaining.divergence.matching import Reading, read
from flashlearn.explaining.divergence.operands import Operand, roles
from flashlearn.explaining.divergence.replay import Replay
from flashlearn.explaining.divergence.windows import is_tile
from flashlearn.quantity import Quantities

MOST_STEPS = 3
"""Statements that may be wrong one after the other, as l and acc are without rescaling."""


@dataclass(frozen=True)
class Departure:
    """The first reading at which a statement departs, what it should have been, and what it was made of.

    With a `cause` an earlier value is right only up to something, and nothing else is wrong.
    """

    reading: Reading
    goal: Goal
    operands: tuple[Operand, ...]
    cause: Cause | None
    readings: Readings


def first_departure(replay: Replay, quantities: Quantities) -> Departure | None:
    """The statement that departs first, proved by putting it right; None if there is none for sure."""
    return _search(replay, quantities, {}, MOST_STEPS)


def _search(replay: Replay, quantities: Quantities, instead: Instead, steps: int) -> Departure | None:
    recorded = replay.record(instead)
    if recorded is None or recorded[1]:
        return None
    replay.count_reading(recorded[0])
    readings = read(recorded[0], quantities)
    trials = Trials(replay, quantities, instead, readings)
    found = list(candidates(readings, quantities, set(instead)))
    for kind in ("unscaled", "departs", "unmasked"):
        chosen = [c for c in found if c.kind == kind]
        for candidate in reversed(chosen) if kind == "unmasked" else chosen:
            for goal in filter(candidate.allows, candidate.expected):
                more = {**instead, **put_right(candidate.reading.event.site, goal, readings)}
                tried = replay.record(more)
                if tried is not None and tried[1]:
                    return departure(candidate, goal, trials)
    first = next((c for c in found if c.kind == "departs"), None)
    if first is None or not first.expected:
        return None
    if (multiple := _of_multiple(first, trials)) is not None:
        return multiple
    if not first.before or steps == 1:
        return None
    goal = first.expected[0]
    if not first.allows(goal):
        return None
    more = {**instead, **put_right(first.reading.event.site, goal, readings)}
    later = _search(replay, quantities, more, steps - 1)
    return departure(first, goal, trials) if later is not None else None


def departure(candidate: Candidate, goal: Goal, trials: Trials) -> Departure | None:
    """The departure where the statement first makes something else; None if what it read is not known."""
    readings = trials.readings
    reading = next((r for r in readings.values() if _departs_at(r, candidate, goal)), None)
    if reading is None:
        return None
    operands = tuple(readings[n] for n in reading.event.operands)
    if not all(right_for(o, reading) for o in operands):
        return None
    if any(_by_chance(o, goal) or _unknown(o) for o in operands):
        return None
    try:
        cause = trials.cause(reading, goal, operands)
    except Unknown:
        return None
    made_of = roles(reading, goal, operands, trials.quantities)
    return Departure(reading, goal, tuple(made_of), cause, readings)


def _of_multiple(first: Candidate, trials: Trials) -> Departure | None:
    """A departure for which no statement is to blame, but the factor of what the first of them reads."""
    reading = first.reading
    operands = tuple(trials.readings[n] for n in reading.event.operands)
    for operand in operands:
        if not operand.firm or any(m.factor == 1.0 for m in operand.firm) or not operand.event.site.name:
            continue
        try:
            cause = trials.multiple(operand)
        except Unknown:
            return None
        if cause is not None:
            return Departure(reading, first.expected[0], (), cause, trials.readings)
    return None


def _departs_at(reading: Reading, candidate: Candidate, goal: Goal) -> bool:
    """True if the statement makes something else than the goal here."""
    same = reading.event.site == candidate.reading.event.site
    return same and reading.window is not None and differs(reading, goal)


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
