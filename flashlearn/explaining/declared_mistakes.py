"""Which declared mistake explains what is wrong: everywhere, in one output, in some cases, or two at once.

Every wrong output of every case is a question; a mistake explains it if it would have given just these
numbers. One mistake that explains all of them is the diagnosis, whether or not it would show in outputs that
are right (then the learner makes it only here and there, and the finding says where). Two that explain all of
them between them, or explain them when made at once, are named together. One that explains most of them is
named, with how many. Whatever explains less is not named.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain

import torch

from flashlearn.exercise import Exercise
from flashlearn.explaining.comparability import comparable, is_unfit, size
from flashlearn.explaining.explanations import Explanation, Question, explanation_of
from flashlearn.explaining.mistake_pairs import WorkBudget, both_needed, pair_candidates
from flashlearn.explaining.predictions import Candidate, Predictions
from flashlearn.explaining.selection import (
    MIN_PREDICTED,
    finding_of,
    full_explanation,
    partial_explanation,
    two_explanations,
)
from flashlearn.outcome import Finding, Outcome, Status

MIN_NUMBERS = 4
"""With fewer numbers than this nearly every pair of mistakes gives the same as some other pair."""

PAIR_WORK = 10000.0
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
    explanations = _explanations(predictions, predictions.candidates(), judged, failing)
    if exercise.explained.explain is not None:  # it says itself what some cases amount to: all fit, or none
        best = full_explanation([a for a in explanations if not a.denied], questions, judged)
        return finding_of(exercise, [best], judged, questions) if best is not None else None
    best = full_explanation(explanations, questions, judged)
    if best is None and exercise.explained.catalogue:
        explanations += _explanations(predictions, predictions.catalogue(), judged, failing)
        best = full_explanation(explanations, questions, judged)
    if best is not None:
        return finding_of(exercise, [best], judged, questions)
    pair = two_explanations(explanations, questions)
    if pair is not None:
        return finding_of(exercise, list(pair), judged, questions)
    two = _at_once(predictions, explanations, judged, failing, questions) if pairs else None
    return two or partial_explanation(exercise, explanations, judged, questions)


def _explanations(
    predictions: Predictions, candidates: Iterable[Candidate], judged: list[Outcome], failing: list[Outcome]
) -> list[Explanation]:
    """What each candidate explains, of those that explain something."""
    explanations = (explanation_of(predictions, candidate, judged, failing) for candidate in list(candidates))
    return [explanation for explanation in explanations if explanation is not None]


def _unexplained(failing: list[Outcome], explanations: list[Explanation]) -> Outcome:
    """The first wrong case that the best explanation leaves open: there the second mistake shows."""
    best = max((a.explained for a in explanations), key=len, default=set())
    open_to = (o for o in failing if any(not c.ok and (o.case.name, c.name) not in best for c in o.outputs))
    return next(open_to, failing[0])


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
            and not explanation.denied
            and full_explanation([explanation], questions, judged) is not None
        )
        if fits and both_needed(predictions, candidate, failing):
            return finding_of(predictions.exercise, [explanation], judged, questions)
    return None
