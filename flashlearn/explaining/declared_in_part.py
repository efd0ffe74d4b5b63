"""A declared mistake that gives some outputs, or some cases, where a second mistake changes the others.

One of two mistakes may need several heads, or a mask: the cases without show the other alone. Only numbers
that were all predicted are proof enough.
"""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.exercise import Exercise
from flashlearn.explaining.declared_mistakes import explanations_of
from flashlearn.explaining.explanations import Explanation, Question, finding_of
from flashlearn.explaining.matching import comparable, is_unfit, size
from flashlearn.explaining.predictions import Predictions
from flashlearn.explaining.some_outputs import MIN_CASES, MIN_NUMBERS, some_outputs
from flashlearn.outcome import Finding, Outcome, Status

MIN_SHARE = 0.2
"""A mistake that gives the numbers of less than this share of the failing cases is not named."""


def find_declared_in_some_outputs(exercise: Exercise, outcomes: Sequence[Outcome]) -> Finding | None:
    """The one declared mistake that gives some outputs in every failing case."""
    explanations, _, questions = _explanations(exercise, outcomes)
    return some_outputs(exercise, explanations, questions)


def find_declared_in_some_cases(exercise: Exercise, outcomes: Sequence[Outcome]) -> Finding | None:
    """The one declared mistake that gives all outputs of some failing cases."""
    explanations, judged, questions = _explanations(exercise, outcomes)
    right = {(o.case.name, c.name) for o in judged for c in o.outputs if c.ok}
    cases = {case for case, _ in questions}
    whole: list[tuple[int, Explanation]] = []
    for one in explanations:
        open_to = {case for case, _ in questions - one.explained}
        count = len(cases - open_to)
        enough = count >= max(MIN_CASES, MIN_SHARE * len(cases)) and one.numbers >= MIN_NUMBERS
        if enough and not one.denied & right:
            whole.append((count, one))
    most = max((count for count, _ in whole), default=0)
    best = [one for count, one in whole if count == most]
    return finding_of(exercise, best[:1], judged, questions) if len({one.name for one in best}) == 1 else None


def _explanations(
    exercise: Exercise, outcomes: Sequence[Outcome]
) -> tuple[list[Explanation], list[Outcome], set[Question]]:
    """What each declared formula explains, the cases that were judged, and the outputs that are wrong."""
    judged = comparable(outcomes)
    failing = sorted((o for o in judged if o.status is Status.WRONG), key=size)
    questions = {(o.case.name, c.name) for o in failing for c in o.outputs if not c.ok}
    own_words = exercise.explained.explain is not None
    if not questions or own_words or any(is_unfit(check) for o in judged for check in o.outputs):
        return [], judged, questions
    predictions = Predictions(exercise, list(outcomes))
    formulas = [candidate for candidate in predictions.candidates() if not candidate.costly]
    return explanations_of(predictions, formulas, judged, failing, spare=1.0), judged, questions
