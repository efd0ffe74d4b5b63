"""Findings for what went wrong before there were numbers to compare: bounds, races, crashes."""

from __future__ import annotations

from flashlearn.exercise import Exercise, Mistake
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.run import run_observed

STEPS = {
    Status.RACE: "Give every element one program that writes it, or add with tl.atomic_add.",
    Status.NOT_YOURS: "Move the computation into the kernel.",
}


def worst(outcomes: list[Outcome]) -> Status:
    """The first status that applies to any case."""
    order = list(Status)
    return min((o.status for o in outcomes), key=order.index)


def from_status(exercise: Exercise, outcomes: list[Outcome]) -> Finding:
    """Bounds, races, crashes: the outcome's own sentence says it; a declared mistake knows the next step."""
    status = worst(outcomes)
    outcome = next(o for o in outcomes if o.status is status)
    for name, mistake in exercise.mistakes.items():
        if mistake.launcher is not None and mistake.status == status.name:
            fits = _same_faults(exercise, mistake, outcomes)
            if fits:
                sentence = f"{outcome.message} {mistake.sentence}".strip()
                return Finding(name, sentence, mistake.next_step, outcome.place, fits, fits)
    step = _bounds_step(outcome) if status is Status.OUT_OF_BOUNDS else STEPS.get(status, "")
    return Finding(status.name.lower(), outcome.message, step, outcome.place)


def _bounds_step(outcome: Outcome) -> str:
    """What to look at, by what went astray: the pointer, a stride, or the mask."""
    kind, masked, index = (*outcome.fault, None, None, None)[:3]
    if kind is None or index is None:
        return "Follow the pointer in this line back to the tensor argument that it starts from."
    if index == "misaligned":
        return "Which dtype does the tensor have, and which one does the pointer count in?"
    if "leave gaps" in outcome.message:
        return "Multiply every index by the stride of its own dimension: which stride is missing here?"
    if masked:
        return "Is each bound in the mask the size of its own dimension, and each index times its own stride?"
    return "A mask that is true only where the index is inside keeps the lane out."


def _same_faults(exercise: Exercise, mistake: Mistake, outcomes: list[Outcome]) -> int:
    """In how many cases the declared kernel fails just as the learner's did; 0 if it differs in one."""
    fits = 0
    for outcome in outcomes:
        if outcome.mode != "observed":
            continue
        twin = run_observed(exercise, mistake.launcher, outcome.case)
        if (twin.status, twin.fault) != (outcome.status, outcome.fault):
            return 0
        if outcome.status is Status.CRASHED and twin.message != outcome.message:
            return 0  # another crash, which has its own reason
        fits += 1
    return fits
