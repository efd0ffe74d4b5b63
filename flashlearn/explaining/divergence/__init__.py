"""Where a wrong kernel leaves the right way: the first value that is none of the exercise's quantities.

    >>> first_divergence(exercise, launcher, outcomes).sentence
    'Up to and including tile (0, 0), no result is wrong; in tile (0, 1), line 31, `acc` …'

Values are recognised by their numbers, not by their names, and a statement is only named if the launcher
gives right outputs once that statement's value is put right. Otherwise there is nothing to say: None.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable
from dataclasses import replace

import torch

from flashlearn.exercise import Exercise
from flashlearn.explaining.divergence.facts import finding_of
from flashlearn.explaining.divergence.pairs import two_departures
from flashlearn.explaining.divergence.replay import Replay, Work
from flashlearn.explaining.divergence.search import Departure, first_departure
from flashlearn.explaining.findings.first_divergence import FirstDivergence, TwoDivergences
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.running.answer import Answer, answering

BUDGET = 6_000
"""Units of work, most of them values that are recorded (`replay.Work`): the same on every machine."""
MOST_CASES = 2


def first_divergence(
    exercise: Exercise, answer: Answer | Callable, outcomes: list[Outcome]
) -> Finding | None:
    """The first value of the learner's kernel that departs, in the smallest case that shows it; or None."""
    answer = answering(exercise, answer)
    if exercise.explained.quantities is None or (
        exercise.explained.unsolved is not None and exercise.explained.unsolved(answer)
    ):
        return None
    work = Work(BUDGET)
    for outcome in sorted(filter(_usable, outcomes), key=_size)[:MOST_CASES]:
        replay = Replay(exercise, answer, outcome, work)
        quantities = exercise.explained.quantities(replay.inputs)
        if quantities is None:
            continue
        found = first_departure(replay, quantities)
        if found is not None:
            finding = finding_of(found, quantities, replay)
            if _unmasked_in_one_call(found) and isinstance(finding.kind, FirstDivergence):
                function = found.reading.event.site.function
                return Finding(replace(finding.kind, function=function), None)
            return finding
        both = two_departures(replay, quantities)
        if both is not None:
            parts = tuple(finding_of(one, quantities, replay) for one in both)
            if all(isinstance(part.kind, FirstDivergence) for part in parts):
                return Finding(TwoDivergences(tuple(map(_alone, parts))), parts[0].place)
    return None


def in_another_unit(departed: Finding) -> bool:
    """Whether all that is wrong with the value that departs is the maximum that it is relative to."""
    return getattr(getattr(departed.kind, "instead", None), "kind", "") == "another unit"


def _alone(part: Finding) -> Finding:
    """One of two: that all was right in an earlier tile need not be so, since the other is wrong as well."""
    return replace(part, kind=replace(part.kind, before=None))


def masked_later(departed: Finding) -> bool:
    """Whether a later line masks the value that departs: it may still be as it should be at its own line."""
    place, variable = departed.place, getattr(departed.kind, "variable", "")
    if place is None or not variable:
        return False
    unmasked = getattr(getattr(departed.kind, "instead", None), "kind", "") == "unmasked"
    own = rf"^\s*{re.escape(variable)} = \w+\.where\(.*\b{re.escape(variable)}\b"
    mask = re.compile(r"\.where\(" if unmasked else own)  # a mask may come after the exponential, too
    indent = len(place.text) - len(place.text.lstrip())
    for line in linecache.getlines(place.file)[place.line :]:
        if line.strip() and len(line) - len(line.lstrip()) < indent:
            return False
        if mask.search(line):
            return True
    return False


def _unmasked_in_one_call(found: Departure) -> bool:
    """True for a value without a mask in a function that is called in several lines.

    It may be right in all calls but one: what is wrong then is which tiles come to which of them.
    """
    site, place = found.reading.event.site, found.reading.event.place
    if not any(match.quantity.kind == "unmasked" for match in found.reading.matches):
        return False
    calls = re.compile(rf"(?<!def )\b{re.escape(site.function)}\(")
    return sum(bool(calls.search(line)) for line in linecache.getlines(place.file)) > 1


def _usable(outcome: Outcome) -> bool:
    """Wrong numbers in fp32: in half precision rounding and mistakes are hard to distinguish."""
    return (
        outcome.status is Status.WRONG
        and outcome.mode == "observed"
        and outcome.case.dtype is torch.float32
        and bool(outcome.outputs)
        and not any(check.problem or not isinstance(check.got, torch.Tensor) for check in outcome.outputs)
    )


def _size(outcome: Outcome) -> tuple:
    """Small first, but large enough for two tiles, and ordinary numbers before extreme ones."""
    case, most = outcome.case, max(outcome.case.sizes.values(), default=0)
    total = 1
    for n in case.sizes.values():
        total *= n
    lengths = [n for name, n in case.sizes.items() if name.startswith("S") or name in "MNK"]
    return case.magnitude != 1.0, case.data != "normal", min(lengths, default=0) < 8, most <= 32, total
