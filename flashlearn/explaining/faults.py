"""Findings for what went wrong before there were numbers to compare: bounds, races, crashes."""

from __future__ import annotations

from flashlearn.exercise import Exercise, Mistake
from flashlearn.judging.cases import run_observed
from flashlearn.outcome import Finding, Outcome, Status, untyped

SYNCHRONISATION = "synchronisation"
"""What a fault of time in a Gluon kernel begins with; its kind comes next, and is the finding's name."""


def worst(outcomes: list[Outcome]) -> Status:
    """The first status that applies to any case."""
    order = list(Status)
    return min((o.status for o in outcomes), key=order.index)


def from_status(exercise: Exercise, outcomes: list[Outcome]) -> Finding:
    """Bounds, races, crashes: the outcome's own sentence says it; a declared mistake knows the next step."""
    status = worst(outcomes)
    outcome = next(o for o in outcomes if o.status is status)
    seen = {"seen": outcome.message, "case": outcome.case.name}
    for name, mistake in exercise.explained.mistakes.items():
        if mistake.launcher is not None and mistake.status is status:
            fits = _same_faults(exercise, mistake, outcomes)
            if fits:
                of_time = outcome.fault[:1] == (SYNCHRONISATION,)
                facts = {
                    **seen,
                    "sentence": mistake.sentence,
                    "next_step": mistake.next_step,
                    "both": of_time,
                }
                return untyped("declared fault", facts, outcome.place, fits, fits, (name,))
    if status is Status.OUT_OF_BOUNDS:
        seen |= {"astray": _astray(outcome.fault)}
    kind = (outcome.fault[1],) if outcome.fault[:1] == (SYNCHRONISATION,) else ()
    return untyped(status.name.lower(), seen, outcome.place, called=kind)


def _astray(fault: tuple) -> str:
    """What went astray: a "pointer", its "dtype", a "stride", a "mask", a "block pointer", a "descriptor"; or
    "no mask".

    Of "exchanged" strides or indices only the order is wrong.
    """
    _, masked, index, *more = fault or (None, False, None)
    if index is None:
        return "pointer"
    if index == "misaligned":
        return "dtype"
    if "exchanged" in more:
        return "exchanged"
    if "gaps" in more or "steps" in more:
        return "stride"
    if "block pointer" in more:
        return "block pointer"
    if "descriptor" in more:
        return "descriptor"
    return "mask" if masked else "no mask"


def _deed(fault: tuple) -> tuple:
    """A fault without what depends on the size of the blocks: of wrong strides, where they led astray.

    One of synchronisation is without its lines.
    """
    if fault[:1] == (SYNCHRONISATION,):
        return (*fault[:2], *fault[3:])
    return (*fault[:2], *fault[3:]) if "steps" in fault else fault


def _same_faults(exercise: Exercise, mistake: Mistake, outcomes: list[Outcome]) -> int:
    """In how many cases the declared kernel fails just as the learner's did; 0 if it differs in one."""
    fits = 0
    for outcome in outcomes:
        if outcome.mode != "observed":
            continue
        twin = run_observed(exercise, mistake.launcher, outcome.case)
        if (twin.status, _deed(twin.fault)) != (outcome.status, _deed(outcome.fault)):
            return 0  # another crash, say, which has its own reason
        fits += 1
    return fits
