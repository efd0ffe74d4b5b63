"""Two statements that depart on their own: neither alone repairs the outputs, and both together do."""

from __future__ import annotations

from itertools import combinations

from flashlearn.explaining.divergence.candidates import candidates
from flashlearn.explaining.divergence.causes import Trials
from flashlearn.explaining.divergence.goals import put_right
from flashlearn.explaining.divergence.matching import read
from flashlearn.explaining.divergence.replay import Replay
from flashlearn.explaining.divergence.search import Departure, departure
from flashlearn.quantity import Quantities

MOST_STATEMENTS, MOST_GOALS = 4, 2
"""Statements that are tried in pairs, and what each may have been meant to make: the likeliest."""


def two_departures(replay: Replay, quantities: Quantities) -> tuple[Departure, Departure] | None:
    """The two statements that depart, proved by putting both right; None if there are none for sure.

    Each reads right values alone, so neither departs because of the other.
    """
    recorded = replay.record()
    if recorded is None or recorded[1]:
        return None
    replay.count_reading(recorded[0])
    readings = read(recorded[0], quantities)
    found = [one for one in candidates(readings, quantities, set()) if one.kind == "departs"]
    tried = [
        (one, goal)
        for one in found[:MOST_STATEMENTS]
        for goal in [g for g in one.expected if one.allows(g) and g.quantity.kind != "output"][:MOST_GOALS]
    ]
    for one, other in combinations(tried, 2):
        if one[0] is other[0] or one[1].quantity.name == other[1].quantity.name:
            continue
        right = [put_right(c.reading.event.site, goal, readings) for c, goal in (one, other)]
        outcome = replay.record({**right[0], **right[1]})
        if outcome is None or not outcome[1]:
            continue
        first = departure(*one, Trials(replay, quantities, right[1], readings))
        second = departure(*other, Trials(replay, quantities, right[0], readings))
        if first is None or second is None or first.cause is not None or second.cause is not None:
            return None
        return first, second
    return None
