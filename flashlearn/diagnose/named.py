"""Which declared mistake explains what is wrong: everywhere, in one output, in some cases, or two at once.

Every wrong output of every case is a question; a mistake answers it if it would have given just these
numbers. One mistake that answers all of them is the diagnosis, whether or not it would show in outputs
that are right (then the learner makes it only here and there, and the finding says where). Two that
answer all of them between them, or that answer them when made at once, are named together. One that
answers most is named with how many. Whatever is less is no name.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import chain

from flashlearn.diagnose.answers import Answer, Question, answer_of
from flashlearn.diagnose.choosing import SPECIFIC, between_them, finding, mostly, whole
from flashlearn.diagnose.combined import both_needed, combinations
from flashlearn.diagnose.comparable import comparable, is_unfit, size
from flashlearn.diagnose.predictions import Candidate, Predictions
from flashlearn.exercise import Exercise
from flashlearn.outcome import Finding, Outcome, Status

PATIENCE = 0.5
"""Seconds of this thread's own time that pairs with a mistake that shows are looked for, then all pairs."""


def named(exercise: Exercise, outcomes: list[Outcome], at_once: bool = True) -> Finding | None:
    """The declared mistake, or pair of them, that explains what is wrong; None if nothing surely does.

    Without `at_once` two mistakes in the same numbers are not looked for, which takes longest.
    """
    judged = comparable(outcomes)
    failing = sorted((o for o in judged if o.status is Status.WRONG), key=size)
    if not failing or any(is_unfit(check) for o in judged for check in o.outputs):
        return None
    questions = {(o.case.name, c.name) for o in failing for c in o.outputs if not c.ok}
    if not questions:
        return None
    predictions = Predictions(exercise, outcomes)
    answers = _answers(predictions, predictions.candidates(), judged, failing)
    if exercise.explain is not None:  # it says itself what some wrong cases amount to: all must fit, or none
        best = whole([a for a in answers if not a.denied], questions, judged)
        return finding(exercise, [best], judged, questions) if best is not None else None
    best = whole(answers, questions, judged)
    if best is None and exercise.catalogue:
        answers += _answers(predictions, predictions.catalogue(), judged, failing)
        best = whole(answers, questions, judged)
    if best is not None:
        return finding(exercise, [best], judged, questions)
    pair = between_them(answers, questions)
    if pair is not None:
        return finding(exercise, list(pair), judged, questions)
    two = _at_once(predictions, answers, judged, failing, questions) if at_once else None
    return two or mostly(exercise, answers, judged, questions)


def _answers(
    predictions: Predictions, candidates: Iterable[Candidate], judged: list[Outcome], failing: list[Outcome]
) -> list[Answer]:
    """What each candidate explains, of those that explain something."""
    answers = (answer_of(predictions, candidate, judged, failing) for candidate in list(candidates))
    return [answer for answer in answers if answer is not None]


def _unexplained(failing: list[Outcome], answers: list[Answer]) -> Outcome:
    """The first wrong case that the best answer leaves open: there the second mistake shows."""
    best = max((a.explained for a in answers), key=len, default=set())
    open_to = (o for o in failing if any(not c.ok and (o.case.name, c.name) not in best for c in o.outputs))
    return next(open_to, failing[0])


def _at_once(
    predictions: Predictions,
    answers: list[Answer],
    judged: list[Outcome],
    failing: list[Outcome],
    questions: set[Question],
) -> Finding | None:
    """Two mistakes made at once in the same outputs: the first pair that gives all numbers of all cases.

    A mistake that explains some cases by itself is likely one of the two, and the other shows elsewhere.
    """
    half = sorted((a for a in answers if a.numbers >= SPECIFIC), key=lambda a: -len(a.explained))
    anchors = list(dict.fromkeys(a.name for a in half))[:3]
    until = time.thread_time() + PATIENCE
    known = combinations(predictions, _unexplained(failing, half), until, anchors)
    for candidate in chain(known if half else (), combinations(predictions, failing[0], until + PATIENCE)):
        answer = answer_of(predictions, candidate, judged, failing, whole=True)
        fits = answer is not None and not answer.denied and whole([answer], questions, judged) is not None
        if fits and both_needed(predictions, candidate, failing):
            return finding(predictions.exercise, [answer], judged, questions)
    return None
