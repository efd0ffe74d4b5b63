"""From outcomes to the one sentence that names the mistake.

First what an experiment proves: lanes that a mask hides, memory that nobody wrote. Then the mistakes
that the exercise declares, alone, here and there, or two at once. Then rules for what no author foresaw:
those that name what was done, the birth of a NaN, and last those that say where to look. Precision comes
before recall: where nothing is sure, there is no finding. Each of these stages is optional: one that fails
is logged, and the others go on without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.comparability import comparable
from flashlearn.explaining.declared_mistakes import named
from flashlearn.explaining.divergence import first_divergence
from flashlearn.explaining.edits.address_slice import READS, WRITES
from flashlearn.explaining.edits.conclusive import WHERE, beside, settled
from flashlearn.explaining.edits.search import find_edit
from flashlearn.explaining.edits.second_mistake import find_edit_and_mistake
from flashlearn.explaining.exchanged_outputs import named_where_exchanged
from flashlearn.explaining.experiments import (
    fresh_memory,
    nan_born,
    nothing_launched,
    rounded_inside,
    undefined_lanes,
)
from flashlearn.explaining.failures import attempted
from flashlearn.explaining.faults import from_status, worst
from flashlearn.explaining.findings.edits import OneEdit
from flashlearn.explaining.precision_split import by_precision
from flashlearn.explaining.rules import PLACES, SURE, VAGUE, Clue, Rule, about_form, standing
from flashlearn.explaining.torch_nan_origins import another, first_birth
from flashlearn.explaining.unwritten_elements import named_where_written, partly_written
from flashlearn.explaining.weights import weights_finding
from flashlearn.explaining.wording import said
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status, StringKind, untyped
from flashlearn.running.answer import Answer, answering

LAUNCHERS = ("launcher", "changed input", "returned input", "stale answer")
"""What a launcher may do that alone makes cases wrong; an outcome's `fault` says so."""

ROUNDED = "rounded inside"
"""A finding that knows its lines: a sum that departs there has departed by rounding."""

ASTRAY = ("out_of_bounds", "race", "besides")
"""Findings of an access out of bounds, or of two that meet, that do not say which index was wrong."""

UNREAD = {
    "never read",
    "some heads never read",
    "end never read",
    "first part never read",
    "only first tile read",
}
"""Findings that say what the loads leave out."""

MOSTLY = 0.75
"""Share of the wrong cases that a mistake must explain to be named beside a fault of memory."""


def diagnose(
    exercise: Exercise, outcomes: list[Outcome], answer: Answer | Callable | None = None
) -> Finding | None:
    """The finding for a check that did not pass, or None if there is nothing sure to say.

    With the learner's `answer` at hand, suspicions can be tested by running it again. Only what is meant to
    end a check, an interrupt, comes through: of a stage that fails there is no finding, and a log entry.
    """
    answer = answering(exercise, answer) if answer is not None else None
    first = next((o for o in outcomes if o.status is not Status.PASS), None)
    if first is None or first.status in (Status.TODO, Status.NEEDS_GPU):
        return None
    if worst(outcomes) is not Status.WRONG:
        finding = attempted(exercise, "status", from_status, exercise, outcomes)
        finding = finding and _besides(exercise, finding, outcomes)
        if finding is not None and finding.kind.name in ASTRAY and answer is not None:
            finding = _mended(exercise, finding, outcomes, answer)
    else:
        finding = _of_numbers(exercise, outcomes, answer)
    return sayable(exercise, finding)


def sayable(exercise: Exercise, finding: Finding | None) -> Finding | None:
    """The finding, or the first of its parts, that can be put into words."""
    if finding is None or attempted(exercise, "words", said, finding) is not None:
        return finding
    parts = (sayable(exercise, part) for part in finding.parts)
    return next(filter(None, parts), None)


def _of_numbers(exercise: Exercise, outcomes: list[Outcome], answer: Answer | None) -> Finding | None:
    """What is wrong with an answer that came to its end in every case."""
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    told = attempted(exercise, "launcher", _launcher, wrong)
    if told is not None:
        return told
    if answer is not None:
        proved = (
            attempted(exercise, "nothing launched", nothing_launched, exercise, wrong, answer)
            or attempted(exercise, "undefined lanes", undefined_lanes, exercise, wrong, answer)
            or attempted(exercise, "fresh memory", fresh_memory, exercise, wrong, answer)
        )
        if proved is not None:
            return proved
    finding = _what_was_done(exercise, outcomes, answer)
    if answer is None:
        return finding
    finding = _unless_born_elsewhere(exercise, finding, wrong, answer)
    finding = _with_line(exercise, finding, outcomes, answer)
    if not settled(finding):
        finding = _mended(exercise, finding, outcomes, answer)
    elif _by_nan_alone(exercise, finding, wrong):
        edit = attempted(exercise, "one edit", find_edit, exercise, answer, outcomes)
        finding = edit if edit is not None and not _fills_absence(edit) else finding
    if finding is None or finding.kind.name in WHERE:
        finding = attempted(exercise, "by precision", _by_precision, exercise, outcomes, answer) or finding
    return finding


def _what_was_done(
    exercise: Exercise, outcomes: list[Outcome], answer: Answer | None, at_once: bool = True
) -> Finding | None:
    """The mistake that the numbers show, and else what rules see in them."""
    wrong = [o for o in outcomes if o.status is Status.WRONG]
    at_once = at_once and not partly_written(outcomes)
    return (
        attempted(exercise, "named", named, exercise, outcomes, at_once)
        or attempted(exercise, "named where written", named_where_written, exercise, outcomes)
        or attempted(exercise, "named where exchanged", named_where_exchanged, exercise, outcomes)
        or (answer and attempted(exercise, "rounded inside", rounded_inside, exercise, wrong, answer))
        or _by_rules(exercise, wrong, answer)
    )


def _by_precision(exercise: Exercise, outcomes: list[Outcome], answer: Answer) -> Finding | None:
    return by_precision(
        outcomes,
        lambda some: _what_was_done(exercise, some, answer, at_once=False),
        lambda some: attempted(exercise, "one edit", find_edit, exercise, answer, some),
    )


def _unless_born_elsewhere(
    exercise: Exercise, finding: Finding | None, wrong: list[Outcome], answer: Answer
) -> Finding | None:
    """The birth of the NaN in place of a mistake whose NaN come from another operation."""
    if not _by_nan_alone(exercise, finding, wrong):
        return finding
    birth = attempted(exercise, "birth of a NaN", nan_born, exercise, wrong, answer)
    if birth is None or birth.kind.name != "birth":
        return finding
    case = next(o.case for o in wrong if o.case.name == birth.facts["case"])
    inputs = exercise.inputs(case, case.generator())
    theirs = first_birth(
        exercise.known[finding.mistake].wrong, inputs
    )  # which gave just these numbers a moment ago
    everywhere = birth.facts["count"] == birth.facts["total"]
    return birth if theirs and another(theirs, birth.facts["birth"], everywhere) else finding


def _by_nan_alone(exercise: Exercise, finding: Finding | None, wrong: list[Outcome]) -> bool:
    """Whether no number speaks for a declared mistake of a kernel: many end in the same NaN."""
    declared = exercise.known.get(finding.mistake) if finding is not None else None
    if declared is None or declared.wrong is None or exercise.kind is not Kind.KERNEL:
        return False
    return not any(_wrong_numbers(check) for o in wrong for check in o.outputs)


def _mended(
    exercise: Exercise, finding: Finding | None, outcomes: list[Outcome], answer: Answer
) -> Finding | None:
    """The finding with the one edit that mends everything, if there is one."""
    line = finding.place.line if finding is not None and finding.place is not None else None
    astray = _accesses(finding) if finding is not None else ()
    born = finding is not None and finding.kind.name == "birth"
    edit = attempted(exercise, "one edit", find_edit, exercise, answer, outcomes, line, astray, born)
    if edit is None and finding is not None and finding.kind.name in ASTRAY:
        two = (exercise, answer, outcomes, line, astray)
        edit = attempted(exercise, "edit and mistake", find_edit_and_mistake, *two)
    return beside(finding, edit) if edit is not None else finding


def _fills_absence(edit: Finding) -> bool:
    """True for an edit that every mistake ending in NaN looks like."""
    return isinstance(edit.kind, OneEdit) and edit.kind.edit_kind.fills_absence


def _accesses(finding: Finding) -> Sequence[str]:
    """The accesses that a finding is about, where it says that they went astray, or not far enough."""
    kinds = {finding.kind.name, *(part.kind.name for part in finding.parts)}
    if kinds & {"out_of_bounds", "race", "besides"}:
        return (*READS, *WRITES)
    if "never written" in kinds:
        return WRITES
    return READS if kinds & UNREAD else ()


def _with_line(
    exercise: Exercise, finding: Finding | None, outcomes: list[Outcome], answer: Answer
) -> Finding | None:
    """The finding with the statement that departs first, where one is sure; or that alone."""
    if finding is not None and (
        finding.place is not None or finding.kind.name == ROUNDED or about_form(finding)
    ):
        return finding
    departed = attempted(exercise, "first divergence", first_divergence, exercise, answer, outcomes)
    if departed is None or finding is None:
        return departed or finding
    if finding.mistake in VAGUE:
        both = StringKind("departure and place", called=departed.names, parts=(departed, finding))
        return replace(departed, kind=both)
    both = StringKind("with its line", called=finding.names, parts=(finding, departed))
    return replace(finding, kind=both, place=departed.place)


def _launcher(wrong: list[Outcome]) -> Finding | None:
    """What the launcher did, where that alone makes cases wrong."""
    for outcome in wrong:
        kind = outcome.fault[0] if outcome.fault else ""
        untouched = kind == "returned input" and all(_nobody_s(check) for check in outcome.outputs)
        if kind in LAUNCHERS and (untouched or all(check.ok for check in outcome.outputs)):
            alike = next(o for o in wrong if o.fault == outcome.fault)
            return untyped(kind, {"seen": outcome.message, "case": alike.case.name})
    stale = next((o for o in wrong if o.fault[:1] == ("stale answer",)), None)
    if stale is not None and len(wrong) == 1:
        return untyped("stale answer", {"seen": stale.message, "case": stale.case.name})
    return None


def _wrong_numbers(check: OutputCheck) -> bool:
    """True if some elements are finite, and wrong."""
    if check.ok or check.problem or not isinstance(check.got, torch.Tensor):
        return False
    got = check.got.double()
    finite = torch.isfinite(got) & torch.isfinite(check.expected)
    return bool(((got - check.expected).abs()[finite] > check.allowed).any())


def _nobody_s(check: OutputCheck) -> bool:
    """True if no program stored anything into this output."""
    return check.writers is not None and bool((check.writers < 0).all())


def _besides(exercise: Exercise, finding: Finding, outcomes: list[Outcome]) -> Finding:
    """A fault of memory, and the named mistake that the other cases show."""
    if finding.mistake in exercise.explained.mistakes or all(o.status is not Status.WRONG for o in outcomes):
        return finding  # a declared kernel that fails just so in every case explains them all
    also = attempted(exercise, "named besides", _named_besides, exercise, outcomes)
    if also is None or also.fits < MOSTLY * also.of:
        return finding  # a stray address may well make cases wrong in which it happens to stay inside
    both = (finding, also)
    return untyped("besides", {}, finding.place, finding.fits, finding.of, parts=both, partial=True)


def _named_besides(exercise: Exercise, outcomes: list[Outcome]) -> Finding | None:
    return named(exercise, [o for o in comparable(outcomes) if o.status is Status.WRONG])


def _by_rules(exercise: Exercise, wrong: list[Outcome], answer: Answer | None) -> Finding | None:
    """What rules see in each wrong output, the surest first."""
    clues: dict[str, list[Clue]] = {}
    for outcome in wrong:
        for check in outcome.outputs:
            if not check.ok:
                clues.setdefault(check.name, []).append(Clue(exercise, outcome, check))
    sure = {name: _first_standing(exercise, SURE, seen) for name, seen in clues.items()}
    told = {name: finding for name, finding in sure.items() if finding is not None}
    if told:
        return _both(told, clues)
    if answer is not None:
        proved = attempted(exercise, "birth of a NaN", nan_born, exercise, wrong, answer) or attempted(
            exercise, "weights", weights_finding, exercise, wrong, answer
        )
        if proved is not None:
            return proved
    places = {name: _first_standing(exercise, PLACES, seen) for name, seen in clues.items()}
    told = {name: finding for name, finding in places.items() if finding is not None}
    return _both(told, clues) if told else None


def _first_standing(exercise: Exercise, rules: Sequence[Rule], seen: Sequence[Clue]) -> Finding | None:
    """What the first rule that holds says; one that fails is passed over."""
    for rule in rules:
        finding = attempted(exercise, f"rule: {rule.kind}", standing, [rule], seen)
        if finding is not None:
            return finding
    return None


def _both(told: dict[str, Finding], clues: dict[str, list[Clue]]) -> Finding:
    """One finding from those of several outputs."""
    first, *others = told.values()
    silent = tuple(name for name in clues if name not in told)
    if not others and not silent:
        return first
    parts = (first, *others)
    return untyped("outputs", {"silent": silent}, first.place, first.fits, first.of, (), parts, bool(silent))
