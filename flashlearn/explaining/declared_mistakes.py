"""Which declared mistake explains what is wrong: everywhere, in one output, in some cases, or two at once.

Every wrong output of every case is a question; a mistake explains it if it would have given just these
numbers. One mistake that explains all of them is the diagnosis, whether or not it would show in outputs that
are right (then the learner makes it only here and there, and the finding says where). Two that explain all of
them between them, or explain them when made at once, are named together. One that explains most of them is
named, with how many. Whatever explains less is not named.

Two faults may hide a declared mistake: elements that no program writes, and outputs in each other's place.
Once these are put right, the rest is explained in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, combinations

from flashlearn.exercise import Exercise
from flashlearn.explaining.explanations import (
    MIN_PREDICTED,
    SPARE,
    Explanation,
    Question,
    explanation_of,
    finding_of,
    full_explanation,
    partial_explanation,
    two_explanations,
)
from flashlearn.explaining.findings.declared import Declared, speaks_of
from flashlearn.explaining.findings.misplaced_stores import OutputsExchanged
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.two_mistakes import AtOnce, PartlyWritten
from flashlearn.explaining.matching import comparable, is_unfit, size
from flashlearn.explaining.mistake_pairs import WorkBudget, both_needed, pair_candidates
from flashlearn.explaining.predictions import Candidate, Predictions
from flashlearn.explaining.some_outputs import some_outputs
from flashlearn.judging.cases import run_observed
from flashlearn.judging.references import largest_error
from flashlearn.later import torch
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status

MIN_NUMBERS = 4
"""With fewer numbers than this nearly every pair of mistakes gives the same as some other pair."""

MUCH_LARGER = 4
"""A case with so many times the numbers of another one costs clearly more."""

PAIR_WORK = 5000.0
"""Work (`WorkBudget`) that is spent on pairs with a mistake that shows, and again on all pairs."""


def find_declared(exercise: Exercise, outcomes: list[Outcome], pairs: bool = True) -> Finding | None:
    """The declared mistake, or pair of them, that explains what is wrong; None if nothing surely does.

    Without `pairs` two mistakes in the same numbers are not looked for, which takes longest.
    """
    judged = comparable(outcomes)
    failing = sorted((o for o in judged if o.status is Status.WRONG), key=size)
    if not failing or any(is_unfit(check) for o in judged for check in o.outputs):
        return None
    questions = {(o.case.name, c.name) for o in failing for c in o.outputs if not c.ok}
    if not questions:
        return None
    predictions = Predictions(exercise, outcomes)
    explanations = explanations_of(predictions, predictions.candidates(), judged, failing)
    if exercise.explained.explain is not None:  # it says itself what some cases amount to: all fit, or none
        best = full_explanation([a for a in explanations if not a.denied], questions, judged)
        return finding_of(exercise, [best], judged, questions) if best is not None else None
    best = full_explanation(explanations, questions, judged)
    if best is None and exercise.explained.catalogue:
        explanations += explanations_of(predictions, predictions.catalogue(), judged, failing)
        best = full_explanation(explanations, questions, judged)
    if best is not None:
        return finding_of(exercise, [best], judged, questions)
    pair = two_explanations(explanations, questions, judged)
    if pair is not None:
        return finding_of(exercise, list(pair), judged, questions)
    two = _at_once(predictions, explanations, judged, failing, questions) if pairs else None
    if two is not None:
        return two
    most = partial_explanation(exercise, explanations, judged, questions)
    return most and (some_outputs(exercise, explanations, questions) or most)


def explanations_of(
    predictions: Predictions,
    candidates: Iterable[Candidate],
    judged: list[Outcome],
    failing: list[Outcome],
    spare: float = SPARE,
) -> list[Explanation]:
    """What each candidate explains, of those that explain something."""
    explanations = (explanation_of(predictions, c, judged, failing, spare=spare) for c in list(candidates))
    wrong = {check.name for outcome in failing for check in outcome.outputs if not check.ok}
    return [e for e in explanations if e is not None and not _speaks_of_what_is_right(predictions, e, wrong)]


def _speaks_of_what_is_right(predictions: Predictions, explanation: Explanation, wrong: set[str]) -> bool:
    """True if the mistake would show in an output that is right everywhere, and its words are about that."""
    right = {output for _, output in explanation.denied} - wrong
    mistakes = [predictions.exercise.all_mistakes[name] for name in explanation.name]
    return any(speaks_of(mistake, output) for mistake in mistakes for output in right)


def _unexplained(failing: list[Outcome], explanations: list[Explanation]) -> Outcome:
    """The first wrong case that the best explanation leaves open: there the second mistake shows."""
    best = max((a.explained for a in explanations), key=len, default=set())
    open_to = [o for o in failing if any(not c.ok and (o.case.name, c.name) not in best for c in o.outputs)]
    return _first_finite(open_to or failing)


def _first_finite(outcomes: list[Outcome]) -> Outcome:
    """The first case whose numbers are all finite, if it is not much larger than the first of all.

    NaN and infinities tell few mistakes from each other, and each is tried at every precision there.
    """
    most = MUCH_LARGER * size(outcomes[0])
    finite = (o for o in outcomes if all(map(_is_finite, o.outputs)) and size(o) <= most)
    return next(finite, outcomes[0])


def _is_finite(check: OutputCheck) -> bool:
    return isinstance(check.got, torch.Tensor) and bool(torch.isfinite(check.got).all())


def _informative_case(failing: list[Outcome]) -> Outcome:
    """The first wrong case; where that has next to no numbers, the one with the most of them."""

    def numbers(outcome: Outcome) -> int:
        bad = (c.expected for c in outcome.outputs if not c.ok)
        return sum(x.numel() for x in bad if isinstance(x, torch.Tensor))

    return failing[0] if numbers(failing[0]) >= MIN_NUMBERS else max(failing, key=numbers)


def _at_once(
    predictions: Predictions,
    explanations: list[Explanation],
    judged: list[Outcome],
    failing: list[Outcome],
    questions: set[Question],
) -> Finding | None:
    """Two mistakes made at once in the same outputs: the first pair that gives all numbers of all cases.

    A mistake that explains some cases by itself is likely one of the two, and the other shows elsewhere.
    """
    half = sorted((a for a in explanations if a.numbers >= MIN_PREDICTED), key=lambda a: -len(a.explained))
    anchors = list(dict.fromkeys(a.name for a in half))[:3]
    known = pair_candidates(predictions, _unexplained(failing, half), WorkBudget(PAIR_WORK), anchors)
    every = pair_candidates(predictions, _informative_case(failing), WorkBudget(PAIR_WORK))
    for candidate in chain(known if half else (), every):
        explanation = explanation_of(predictions, candidate, judged, failing, whole=True)
        fits = (
            explanation is not None
            and bool(explanation.numbers)
            and not explanation.denied
            and full_explanation([explanation], questions, judged) is not None
        )
        if fits and both_needed(predictions, candidate, failing):
            return finding_of(predictions.exercise, [explanation], judged, questions)
    return None


def partly_written(outcomes: list[Outcome]) -> bool:
    """True if some elements of a wrong output are written by programs, and some by none."""
    return any(_filled(outcome) is not outcome for outcome in outcomes if not _empty(outcome))


def find_declared_where_written(exercise: Exercise, outcomes: list[Outcome]) -> Finding | None:
    """Elements that no program writes, and what is wrong with the others: two findings in one."""
    outcomes = [o for o in outcomes if not _empty(o)]
    filled = [_filled(outcome) for outcome in outcomes]
    if not outcomes or all(a is b for a, b in zip(filled, outcomes, strict=True)):
        return None
    found = find_declared(exercise, filled)
    if found is None:
        return None
    bad = next(
        (o, c) for o in outcomes for c in o.outputs if (lost := _missing(c)) is not None and lost.any()
    )
    if _leaves_the_same(exercise, found.mistake, *bad):
        return found
    writers = bad[1].writers
    count = int((writers < 0).sum())
    wrong = [o.case.name for o in filled if o.status is Status.WRONG]
    elsewhere = "" if bad[0].case.name in wrong else next(iter(wrong), "")
    kind = PartlyWritten(bad[1].name, bad[0].case.name, count, writers.numel(), (found,), elsewhere)
    return Finding(kind, None, found.fits, found.of, found.partial)


def _leaves_the_same(exercise: Exercise, name: str, outcome: Outcome, check: OutputCheck) -> bool:
    """True if the mistake is a kernel that leaves just these elements unwritten: then it is one mistake."""
    launcher = exercise.explained.mistakes[name].launcher if name in exercise.explained.mistakes else None
    if launcher is None:
        return False
    twin = run_observed(exercise, launcher, outcome.case)
    same = next((c for c in twin.outputs if c.name == check.name and c.writers is not None), None)
    return same is not None and torch.equal(same.writers < 0, check.writers < 0)


def _empty(outcome: Outcome) -> bool:
    """True if no program wrote anything of an output, or none ran and all its elements are alike."""
    idle = outcome.observation is not None and not outcome.observation.launches
    return any(
        bool((c.writers < 0).all()) if c.writers is not None else idle and _all_alike(c.got)
        for c in outcome.outputs
    )


def _all_alike(values: object) -> bool:
    """True if a tensor has one number everywhere, or NaN."""
    if not isinstance(values, torch.Tensor) or not values.numel():
        return False
    return bool((values == values.flatten()[0]).all()) or bool(torch.isnan(values).all())


def _filled(outcome: Outcome) -> Outcome:
    """The outcome as if what was never written were right; itself if everything was written."""
    if outcome.status is not Status.WRONG:
        return outcome
    checks = []
    for check in outcome.outputs:
        unwritten = _missing(check)
        if unwritten is None or not bool(unwritten.any()) or bool((check.writers < 0).all()):
            checks.append(check)
            continue
        got = torch.where(unwritten, check.expected.to(check.got.dtype), check.got)
        error = largest_error(got, check.expected)
        checks.append(replace(check, got=got, error=error, ok=error <= check.allowed))
    if all(a is b for a, b in zip(checks, outcome.outputs, strict=True)):
        return outcome
    status = Status.PASS if all(c.ok for c in checks) else Status.WRONG
    return replace(outcome, outputs=tuple(checks), status=status)


def _missing(check: OutputCheck) -> torch.Tensor | None:
    """The elements that no program writes and that are wrong: what a sum begins with may be right."""
    if check.writers is None or check.problem:
        return None
    apart = (check.got.double() - check.expected.double()).abs()
    same = (check.got == check.expected) | (apart <= check.allowed)
    return (check.writers < 0) & ~same


def find_exchanged_outputs(exercise: Exercise, outcomes: list[Outcome]) -> Finding | None:
    """What explains everything once two outputs are put back: one mistake, or nothing more."""
    found = []
    for pair in combinations(exercise.outputs, 2):
        restored = [_restored(outcome, *pair) for outcome in outcomes]
        if None in restored or any(map(_spoilt, outcomes, restored)):
            continue
        beside = _besides_exchanged(exercise, pair, restored)
        if beside is not None:
            found.append(beside)
    return found[0] if len(found) == 1 else None


def _spoilt(outcome: Outcome, restored: Outcome) -> bool:
    """True for a case whose numbers are right as they are, and would not be the other way round."""
    return all(check.ok for check in outcome.outputs) and restored.status is not Status.PASS


def _besides_exchanged(exercise: Exercise, pair: tuple[str, str], restored: list[Outcome]) -> Finding | None:
    each = [Finding(OutputsExchanged(a, b, exercise.outputs)) for a, b in (pair, pair[::-1])]
    if all(outcome.status is Status.PASS for outcome in restored):
        return Finding(Outputs(tuple(each)))
    beside = find_declared(exercise, restored, pairs=False)
    if beside is None or not isinstance(beside.kind, Declared) or beside.kind.scope is not None:
        return None
    return Finding(AtOnce(parts=(each[0], beside)), fits=beside.fits, of=beside.of)


def _restored(outcome: Outcome, one: str, other: str) -> Outcome | None:
    """The outcome with two outputs in each other's place; None if they cannot be."""
    checks = {check.name: check for check in outcome.outputs}
    a, b = checks.get(one), checks.get(other)
    if a is None or b is None or a.problem or b.problem or not _alike(a.got, b.got):
        return None
    checks |= {one: _with(a, b), other: _with(b, a)}
    status = Status.PASS if all(check.ok for check in checks.values()) else Status.WRONG
    return replace(outcome, outputs=tuple(checks.values()), status=status)


def _alike(a: object, b: object) -> bool:
    tensors = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    return tensors and (a.shape, a.dtype) == (b.shape, b.dtype)


def _with(check: OutputCheck, other: OutputCheck) -> OutputCheck:
    """The check of one output with what came back as another."""
    error = largest_error(other.got, check.expected)
    return replace(check, got=other.got, writers=other.writers, error=error, ok=error <= check.allowed)
