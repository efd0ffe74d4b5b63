"""What a declared mistake explains of what is wrong, what speaks against it, and which one is reported.

Precision comes before recall.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from flashlearn.exercise import Exercise
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.two_mistakes import AtOnce
from flashlearn.explaining.matching import Fit, distance, fit, is_faint, is_right, size, visible
from flashlearn.explaining.predictions import Candidate, Predictions, faults_of
from flashlearn.explaining.scope import Scope, kind_of, scope_of
from flashlearn.later import torch
from flashlearn.outcome import Finding, Outcome, Status

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
    comes as near to it as the truth does. What it would have made wrong, and was not made in this way, it
    `claims` in vain.
    """

    candidate: Candidate
    explained: set[Question] = field(default_factory=set)
    denied: set[Question] = field(default_factory=set)
    misfit: float = 0.0
    numbers: int = 0
    excused: set[Question] = field(default_factory=set)
    faint: set[Question] = field(default_factory=set)
    claims: set[Question] = field(default_factory=set)

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
    spare: float = SPARE,
) -> Explanation | None:
    """What the candidate explains; None if it explains nothing in the first cases it is tried on.

    With `whole` it must explain everything: the first output that it does not ends the trial. Else one that
    has been denied the share `spare` of what is wrong is not tried on.
    """
    explanation = Explanation(candidate)
    wrong = {(o.case.name, c.name) for o in failing for c in o.outputs if not c.ok}
    most = 0 if whole else max(2, int(spare * len(wrong)))
    if _shows_in_fp32(predictions, candidate, judged, failing):
        return None
    probes = failing[: 1 if candidate.costly else PROBES]
    if not candidate.costly:
        probes = [*probes, *_of_other_outputs(failing, probes)]
    for outcome in probes[:2]:
        _ask(predictions, explanation, outcome)
    if not explanation.explained and len(explanation.denied) >= _wrong_outputs(probes[:2]):
        probes = [*probes[:2], *_of_other_outputs(failing, probes[:2])]
    for outcome in probes[2:]:
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


def _shows_in_fp32(
    predictions: Predictions, candidate: Candidate, judged: list[Outcome], failing: list[Outcome]
) -> bool:
    """True if all failing cases are of half precision, and the mistake would show in fp32, where cases pass.

    Asked of the smallest: a mistake of rounding does not show there.
    """
    if candidate.costly or any(o.case.dtype.itemsize != 2 for o in failing):
        return False
    passing = sorted((o for o in judged if is_right(o) and o.case.dtype.itemsize == 4), key=size)
    for outcome in (o for o in passing if min(o.case.sizes.values(), default=0) > 1):
        predicted = next(predictions.of(candidate, outcome), ())
        if len(predicted) == len(outcome.outputs):
            pairs = zip(predicted, outcome.outputs, strict=True)
            return any(visible(p, check) for p, check in pairs)
    return False


def _of_other_outputs(failing: list[Outcome], probes: list[Outcome]) -> list[Outcome]:
    """The first failing case of each output that is right in the probes: it may have a mistake of its own."""
    shown = {check.name for o in probes for check in o.outputs if not check.ok}
    more: list[Outcome] = []
    for outcome in failing:
        names = {check.name for check in outcome.outputs if not check.ok}
        if not names <= shown:
            more, shown = [*more, outcome], shown | names
    return more


def _wrong_outputs(outcomes: list[Outcome]) -> int:
    return sum(not check.ok for o in outcomes for check in o.outputs)


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
        elif found is None and (not check.ok or visible(p, check)):
            explanation.denied.add(question)
            if visible(p, check):
                explanation.claims.add(question)


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


MIN_PREDICTED = 16
"""A mistake that does not show everywhere must predict this number of wrong numbers to be named."""

MIN_SHARE = 0.5
"""A mistake that explains less than this share of what is wrong is not named."""


def full_explanation(
    explanations: list[Explanation], questions: set[Question], judged: list[Outcome]
) -> Explanation | None:
    """Of the mistakes that explain every question, the one that is contradicted least, and fits best."""
    every = [
        a
        for a in explanations
        if a.explained | a.set_aside >= questions and _believable(a, questions, judged)
    ]
    return min(every, key=lambda a: (len(a.denied), len(a.faint), a.misfit), default=None)


def _believable(explanation: Explanation, questions: set[Question], judged: list[Outcome]) -> bool:
    """Whether a mistake may be named although outputs are right in which it would show.

    The numbers must speak for it, and there must be a reason: it was made in one output of several, or in
    one kind of case. NaN in other places than predicted must be the exception.
    """
    if explanation.set_aside and (
        explanation.numbers < MIN_PREDICTED or len(explanation.set_aside) > len(explanation.explained)
    ):
        return False
    if not explanation.denied:
        return True
    if explanation.numbers < MIN_PREDICTED:
        return False
    outputs = {output for _, output in questions}
    others = {output for _, output in explanation.denied} - outputs
    same = {q for q in explanation.denied if q[1] in outputs}
    return (bool(others) and not same) or kind_of({case for case, _ in questions}, judged) is not None


def two_explanations(
    explanations: list[Explanation], questions: set[Question], judged: list[Outcome]
) -> tuple[Explanation, Explanation] | None:
    """Two explanations, each sure of its part: one output each, or cases of a kind each."""
    outputs = {output for _, output in questions}
    found = []
    possible = [a for a in explanations if not _contradicted(a, judged)]
    for i, one in enumerate(possible):
        for other in possible[i + 1 :]:
            faint = one.faint & other.faint
            if one.name == other.name or not one.explained | other.explained | faint >= questions:
                continue
            if not one.numbers or not other.numbers:  # NaN alone is no mistake's own
                continue
            by_output = len(outputs) > 1 and any(
                {q for q in questions if q[1] == o} <= a.explained
                and {q for q in questions if q[1] != o} <= b.explained
                for a, b in ((one, other), (other, one))
                for o in outputs
            )
            least = min(_cases_of(one, other), _cases_of(other, one))
            if by_output or least >= 2:
                against = (len(one.denied) + len(other.denied), len(one.claims) + len(other.claims))
                found.append((not by_output, against, one, other))
    best = min(found, key=lambda f: f[:2], default=None)
    return (best[2], best[3]) if best is not None else None


def _cases_of(one: Explanation, other: Explanation) -> int:
    """The number of cases in which the one explains something that the other does not."""
    return len({case for case, _ in one.explained - other.explained})


def _contradicted(explanation: Explanation, judged: list[Outcome]) -> bool:
    """True if an output that it explains is right in cases in which the mistake would show.

    Then it takes a reason, as a single mistake does: that it was made in one kind of case.
    """
    own = {output for _, output in explanation.explained}
    right = {(o.case.name, c.name) for o in judged if is_right(o) for c in o.outputs if c.name in own}
    cases = {case for case, _ in explanation.explained}
    return bool(explanation.denied & right) and kind_of(cases, judged) is None


def partial_explanation(
    exercise: Exercise, explanations: list[Explanation], judged: list[Outcome], questions: set[Question]
) -> Finding | None:
    """The one mistake that explains most of what is wrong, though not all of it."""
    ranked = sorted(explanations, key=lambda a: (-len(a.explained), len(a.claims)))
    if not ranked or len(ranked[0].explained) < max(2, MIN_SHARE * len(questions)):
        return None
    best = ranked[0]
    right = {(o.case.name, c.name) for o in judged for c in o.outputs if c.ok}
    cases = {case for case, _ in questions if all(q in best.explained for q in questions if q[0] == case)}
    if best.numbers < MIN_PREDICTED or not cases or best.denied & right:
        return None
    equal = [a for a in ranked if len(a.explained) == len(best.explained)]
    if any(a.name != best.name and len(a.claims) == len(best.claims) for a in equal):
        return None  # two fit equally well: neither is sure
    return finding_of(exercise, [best], judged, questions)


def finding_of(
    exercise: Exercise, explanations: list[Explanation], judged: list[Outcome], questions: set[Question]
) -> Finding:
    """The mistake, or the two, with where each shows and where it does not."""
    names = [name for a in explanations for name in a.name]
    if len(names) == 1:
        names += second_in_formula(exercise, explanations[0].candidate)
    if len(explanations) == 1:
        explained = explanations[0].explained | explanations[0].excused
        clear = questions - explanations[0].faint
        scope = scope_of(explained, explanations[0].denied, judged, clear)
        parts = [declared(exercise, name) for name in names]
    else:
        explained, scope = explanations[0].explained | explanations[1].explained, None
        scopes = [
            scope_of(a.explained & questions, set(), judged, a.explained & questions) for a in explanations
        ]
        parts = [declared(exercise, n, scope=s) for n, s in zip(names, scopes, strict=True)]
    cases = {o.case.name for o in judged if o.status is Status.WRONG}
    fits = sum(all(q in explained for q in questions if q[0] == case) for case in cases)
    partial = scope is not None and scope.kind == "part"
    if partial:
        given = _given(explanations[0], cases, questions)
        first = next((o.case.name for o in judged if o.case.name in given), "")
        scope = replace(scope, share=(len(given), len(cases)), case=first)
        fits = len(given)  # not those of which nothing is known
    counts = {"fits": fits, "of": len(cases), "partial": partial}
    if len(names) == 1:
        only_nan = not any(map(_has_a_number, judged))
        return declared(exercise, names[0], scope=scope, only_nan=only_nan, **counts)
    return Finding(AtOnce(scope, tuple(parts)), **counts)


def second_in_formula(exercise: Exercise, candidate: Candidate) -> list[str]:
    """The mistake that a way to make another one has in it besides, if that is declared for itself."""
    (name,), faults = candidate.names, faults_of(candidate.compute)
    mistake = exercise.all_mistakes.get(name)
    if mistake is None or mistake.wrong is None:
        return []
    ways = [faults_of(way) for way in (mistake.wrong, *mistake.also)]
    beside = [faults - way for way in ways if way and way < faults]
    every = exercise.explained.mistakes.items()
    formulas = {other: m.wrong for other, m in every if m.independent and m.wrong is not None}
    return [other for other, formula in formulas.items() if faults_of(formula) in beside][:1]


def _given(explanation: Explanation, cases: set[str], questions: set[Question]) -> set[str]:
    """The cases in which a mistake gives the numbers: not those in which it makes no difference."""
    known = explanation.explained | explanation.excused
    asked = {case: [q for q in questions if q[0] == case] for case in cases}
    return {
        case
        for case, here in asked.items()
        if any(q in explanation.explained for q in here) and all(q in known for q in here)
    }


def _has_a_number(outcome: Outcome) -> bool:
    """True if some element of a wrong output is a number, or the output cannot be compared."""
    wrong = [c for c in outcome.outputs if not c.ok]
    return any(c.problem or c.got is None or bool(torch.isfinite(c.got).any()) for c in wrong)


def declared(
    exercise: Exercise, name: str, scope: Scope | None = None, only_nan: bool = False, **more: Any
) -> Finding:
    """The finding that a mistake of the exercise, or of its catalogue, was made."""
    return Finding(Declared.of(name, exercise.all_mistakes[name], scope, only_nan), **more)
