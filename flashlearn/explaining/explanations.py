"""What one declared mistake explains of what is wrong, and what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass, field

from flashlearn.explaining.comparability import is_faint, is_right
from flashlearn.explaining.matching import Fit, distance, fit, visible
from flashlearn.explaining.predictions import Candidate, Predictions
from flashlearn.outcome import Outcome

PROBES = 3
"""Failing cases, smallest first, in one of which a formula must show itself to be tried on the others."""

SPARE = 0.6
"""When a candidate has been denied this share of what is wrong, the other cases are not asked."""

FAR = 0.2
"""A prediction that misses by more than this share of the error is not worth another precision."""

Question = tuple[str, str]
"""A wrong output: (case, output)."""


@dataclass
class Explanation:
    """What a candidate explains, how exactly, and where it would show although the learner is right.

    It is `excused` where both are not finite, in other places: that is neither for it nor against it. Nor is
    what is `faint`: an error that rounding may have made, in a case in which the candidate would not show, or
    comes as near to it as the truth does.
    """

    candidate: Candidate
    explained: set[Question] = field(default_factory=set)
    denied: set[Question] = field(default_factory=set)
    misfit: float = 0.0
    numbers: int = 0
    excused: set[Question] = field(default_factory=set)
    faint: set[Question] = field(default_factory=set)

    @property
    def set_aside(self) -> set[Question]:
        """What is neither for the candidate nor against it."""
        return self.excused | self.faint

    @property
    def name(self) -> tuple[str, ...]:
        """The mistake's name, or two."""
        return self.candidate.names


def explanation_of(
    predictions: Predictions,
    candidate: Candidate,
    judged: list[Outcome],
    failing: list[Outcome],
    whole: bool = False,
) -> Explanation | None:
    """What the candidate explains; None if it explains nothing in the first cases it is tried on.

    With `whole` it must explain everything: the first output that it does not ends the trial.
    """
    explanation = Explanation(candidate)
    wrong = {(o.case.name, c.name) for o in failing for c in o.outputs if not c.ok}
    most = 0 if whole else max(2, int(SPARE * len(wrong)))
    probes = failing[: 1 if candidate.costly else PROBES]
    for outcome in probes:
        _ask(predictions, explanation, outcome)
    if not explanation.explained:
        return None
    rest = [o for o in failing if all(o is not p for p in probes)]
    passing = [o for o in judged if is_right(o)]
    for outcome in (*rest, *passing):
        # a mistake made in one output of several is denied by the others, and may go on
        against = explanation.denied if whole or candidate.costly else explanation.denied & wrong
        if len(against) > (min(most, 2) if candidate.costly else most):
            break
        _ask(predictions, explanation, outcome)
    return explanation


def _ask(predictions: Predictions, explanation: Explanation, outcome: Outcome) -> None:
    """Compare the candidate's outputs with the learner's in one case, at the precision that fits best."""
    best: list[Fit | None] = []
    shown: tuple = ()
    for predicted in predictions.of(explanation.candidate, outcome):
        if len(predicted) != len(outcome.outputs):
            break
        fits = [fit(p, c) for p, c in zip(predicted, outcome.outputs, strict=True)]
        if not shown or _worth(fits) > _worth(best):
            best, shown = fits, predicted
        if _settled(best, outcome) or _hopeless(predicted, outcome):
            break
    if not shown:
        explanation.denied |= {(outcome.case.name, c.name) for c in outcome.outputs}
        return
    nearer = any(f is not None and f.explains for f in best)
    for p, check, found in zip(shown, outcome.outputs, best, strict=True):
        question = (outcome.case.name, check.name)
        if found is not None and not check.ok and nearer:
            explanation.explained.add(question)
            explanation.misfit = max(explanation.misfit, found.misfit)
            explanation.numbers += found.numbers
        elif found is not None and found.loose:
            explanation.excused.add(question)
        elif is_faint(check) and (found is not None or not visible(p, check)):
            explanation.faint.add(question)
        elif (found is None and not check.ok) or (check.ok and found is None and visible(p, check)):
            explanation.denied.add(question)


def _worth(fits: list[Fit | None]) -> tuple[int, int]:
    """How many outputs a prediction explains, and how many it meets."""
    return sum(f is not None and f.explains for f in fits), sum(f is not None for f in fits)


def _settled(fits: list[Fit | None], outcome: Outcome) -> bool:
    """True if every output is met, and the wrong ones are explained: no other precision can do better."""
    return all(
        f is not None and (check.ok or f.explains) for f, check in zip(fits, outcome.outputs, strict=True)
    )


def _hopeless(predicted: tuple, outcome: Outcome) -> bool:
    """True if no output that is wrong comes near the prediction: another precision cannot matter.

    In half precision a mistake may be one of rounding, which shows at that precision alone.
    """
    half = outcome.case.dtype.itemsize == 2
    return all(
        check.ok or (distance(p, check) > FAR * check.error and not (half and not visible(p, check)))
        for p, check in zip(predicted, outcome.outputs, strict=True)
    )
