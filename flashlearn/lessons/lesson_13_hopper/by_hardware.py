"""What was observed of a kernel's cases: whether the units that an exercise is about did the work.

>>> HowJudged(…, seen=by_hardware("tma load", "wgmma"))      # in every launch
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flashlearn.observation import Observation
from flashlearn.outcome import Outcome

MISSING = {
    "tma load": "no tile comes through the copy engine",
    "wgmma": "no WGMMA multiplies the tiles",
    "fork": "its warps all do the same: none of them only loads",
}
"""What is said where a launch has no event of this kind."""
ADDRESSES = "{name} is also loaded by addresses, not only through the copy engine"
SENTENCE = "The result is right, but {what}. Here the hardware's own way is the exercise."


def by_hardware(*wanted: str) -> Callable[[Sequence[Outcome]], str]:
    """A sentence if a launch has no event of a `wanted` kind, or loads tiles by addresses; else nothing."""

    def seen(outcomes: Sequence[Outcome]) -> str:
        for outcome in outcomes:
            observed = outcome.observation
            if observed is not None and observed.traffic and (what := _otherwise(observed, wanted)):
                return SENTENCE.format(what=what)
        return ""

    return seen


def multiplied_by_hardware(outcomes: Sequence[Outcome]) -> str:
    """A sentence if in a case no launch has both the copy engine and WGMMA: others may prepare or add up."""
    for outcome in outcomes:
        observed = outcome.observation
        if observed is not None and observed.traffic:
            found: dict[int, set[str]] = {}
            for event in observed.timeline:
                found.setdefault(event.launch, set()).add(event.what)
            if not any(kinds >= {"tma load", "wgmma"} for kinds in found.values()):
                return SENTENCE.format(what=MISSING["wgmma"])
    return ""


def _otherwise(observed: Observation, wanted: Sequence[str]) -> str:
    for number, launch in enumerate(observed.launches):
        kinds = {event.what for event in observed.timeline if event.launch == number}
        for one in wanted:
            if one not in kinds:
                return MISSING[one]
        for name, kind in launch.signature.items():
            if kind.startswith("*") and name in observed.traffic and observed.traffic[name].loaded:
                return ADDRESSES.format(name=name)
    return ""
