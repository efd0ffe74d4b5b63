"""From outcomes to the one sentence that names the mistake.

First what an experiment proves: lanes that a mask hides, memory that nobody wrote. Then the mistakes
that the exercise declares, alone, here and there, or two at once. Then rules for what no author foresaw:
those that name what was done, the birth of a NaN, and last those that say where to look. Precision comes
before recall: where nothing is sure, there is no finding.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from flashlearn.diagnose.comparable import comparable
from flashlearn.diagnose.experiments import fresh_memory, nan_born, undefined_lanes
from flashlearn.diagnose.faults import from_status, worst
from flashlearn.diagnose.named import named
from flashlearn.diagnose.unwritten import named_where_written, partly_written
from flashlearn.diagnose.weights import weights_finding
from flashlearn.divergence import first_divergence
from flashlearn.exercise import Exercise
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from flashlearn.rules import PLACES, SURE, Clue, standing

LAUNCHERS = {
    "launcher": "Return what the signature names, in that order.",
    "changed input": "Allocate a tensor of your own for what the kernel writes.",
    "returned input": "Allocate the result with torch.empty_like, and let the kernel store into it.",
    "stale answer": "Nothing may be kept from one call to the next: compute from the arguments, every time.",
}

MOSTLY = 0.75
"""Share of the wrong cases that a mistake must explain to be named beside a fault of memory."""

VAGUE = {rule.__name__.replace("_", " ") for rule in PLACES}
"""Findings that say where to look, not what was done."""


def diagnose(exercise: Exercise, outcomes: list[Outcome], function: Callable | None = None) -> Finding | None:
    """The finding for a check that did not pass, or None if there is nothing sure to say.

    With the learner's `function` at hand, suspicions can be tested by running it again.
    """
    first = next((o for o in outcomes if o.status is not Status.PASS), None)
    if first is None or first.status in (Status.TODO, Status.NEEDS_GPU):
        return None
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    if worst(outcomes) is not Status.WRONG:
        return _besides(exercise, from_status(exercise, outcomes), outcomes)
    told = _launcher(wrong)
    if told is not None:
        return told
    if function is not None:
        proved = undefined_lanes(exercise, wrong, function) or fresh_memory(exercise, wrong, function)
        if proved is not None:
            return proved
    finding = (
        named(exercise, outcomes, at_once=not partly_written(outcomes))
        or named_where_written(exercise, outcomes)
        or _by_rules(exercise, wrong, function)
    )
    return _with_line(exercise, finding, outcomes, function) if function is not None else finding


def _with_line(
    exercise: Exercise, finding: Finding | None, outcomes: list[Outcome], function: Callable
) -> Finding | None:
    """The finding with the statement that departs first, where one is sure; or that alone."""
    if finding is not None and (finding.place is not None or finding.mistake in ("shape", "launcher")):
        return finding
    departed = first_divergence(exercise, function, outcomes)
    if departed is None:
        return finding
    if finding is None or finding.mistake in VAGUE:
        said = f"{departed.sentence} {finding.sentence}" if finding is not None else departed.sentence
        step = f"Compare this line with what {departed.quantity} is made of."
        return Finding("first divergence", said, step, departed.place)
    return replace(finding, sentence=f"{finding.sentence} {departed.sentence}", place=departed.place)


def _launcher(wrong: list[Outcome]) -> Finding | None:
    """What the launcher did, where that alone makes cases wrong."""
    for outcome in wrong:
        kind = outcome.fault[0] if outcome.fault else ""
        untouched = kind == "returned input" and all(_nobody_s(check) for check in outcome.outputs)
        if kind in LAUNCHERS and (untouched or all(check.ok for check in outcome.outputs)):
            return Finding(kind, outcome.message, LAUNCHERS[kind])
    stale = next((o for o in wrong if o.fault[:1] == ("stale answer",)), None)
    if stale is not None and len(wrong) == 1:
        return Finding("stale answer", stale.message, LAUNCHERS["stale answer"])
    return None


def _nobody_s(check: OutputCheck) -> bool:
    """True if no program stored anything into this output."""
    return check.writers is not None and bool((check.writers < 0).all())


def _besides(exercise: Exercise, finding: Finding, outcomes: list[Outcome]) -> Finding:
    """A fault of memory, and the named mistake that the other cases show."""
    if finding.mistake in exercise.mistakes or all(o.status is not Status.WRONG for o in outcomes):
        return finding  # a declared kernel that fails just so in every case explains them all
    also = named(exercise, [o for o in comparable(outcomes) if o.status is Status.WRONG])
    if also is None or also.fits < MOSTLY * also.of:
        return finding  # a stray address may well make cases wrong in which it happens to stay inside
    return replace(
        finding,
        mistake=f"{finding.mistake} + {also.mistake}",
        sentence=f"{finding.sentence} Besides, the cases that do run are wrong: {also.sentence}",
        next_step=f"{finding.next_step} {also.next_step}".strip(),
    )


def _by_rules(exercise: Exercise, wrong: list[Outcome], function: Callable | None) -> Finding | None:
    """What rules see in each wrong output, the surest first."""
    clues: dict[str, list[Clue]] = {}
    for outcome in wrong:
        for check in outcome.outputs:
            if not check.ok:
                clues.setdefault(check.name, []).append(Clue(exercise, outcome, check))
    sure = {name: standing(SURE, seen) for name, seen in clues.items()}
    told = {name: finding for name, finding in sure.items() if finding is not None}
    if told:
        return _both(told, clues)
    if function is not None:
        proved = nan_born(exercise, wrong, function) or weights_finding(exercise, wrong, function)
        if proved is not None:
            return proved
    places = {name: standing(PLACES, seen) for name, seen in clues.items()}
    told = {name: finding for name, finding in places.items() if finding is not None}
    return _both(told, clues) if told else None


def _both(told: dict[str, Finding], clues: dict[str, list[Clue]]) -> Finding:
    """One finding from those of several outputs."""
    first, *others = told.values()
    silent = [name for name in clues if name not in told]
    different = [f for f in others if f.mistake != first.mistake]
    sentence = _sentences(told)
    if silent:
        names = " and ".join(silent)
        sentence += f" {names} {'is' if len(silent) == 1 else 'are'} wrong too, but not in this way."
    names = dict.fromkeys(f.mistake for f in (first, *different))
    steps = dict.fromkeys(f.next_step for f in (first, *different) if f.next_step)
    return replace(first, mistake=" + ".join(names), sentence=sentence, next_step=" ".join(steps))


def _sentences(told: dict[str, Finding]) -> str:
    """The outputs' sentences, one after the other; what differs in the output's name alone is said once."""
    name, *others = told
    first, alike, more = told[name], [], []
    for other in others:
        finding = told[other]
        renamed = re.sub(rf"\b{re.escape(name)}\b", other, first.sentence)
        core, own, renamed = (
            s.split(" Never read in case")[0] for s in (finding.sentence, first.sentence, renamed)
        )
        if core == renamed and core != own:
            alike.append(other)
        elif core != own:
            more.append(finding.sentence)
    same = [f"The same holds for {' and '.join(alike)}."] if alike else []
    return " ".join(dict.fromkeys([first.sentence, *same, *more]))
