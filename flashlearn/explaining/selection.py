"""Which explanation, or which two, is reported; precision comes before recall."""

from __future__ import annotations

from typing import Any

from flashlearn.exercise import Exercise
from flashlearn.explaining.explanations import Explanation, Question
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.two_mistakes import AtOnce
from flashlearn.explaining.scope import Scope, kind_of, scope_of
from flashlearn.outcome import Finding, Outcome, Status

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
    explanations: list[Explanation], questions: set[Question]
) -> tuple[Explanation, Explanation] | None:
    """Two explanations, each sure of its part: one output each, or cases of a kind each."""
    outputs = {output for _, output in questions}
    found = []
    for i, one in enumerate(explanations):
        for other in explanations[i + 1 :]:
            faint = one.faint & other.faint
            if one.name == other.name or not one.explained | other.explained | faint >= questions:
                continue
            if not one.numbers or not other.numbers:  # NaN alone is no mistake's own
                continue
            by_output = (
                any(
                    {q for q in questions if q[1] == o} <= one.explained
                    and {q for q in questions if q[1] != o} <= other.explained
                    for o in outputs
                )
                and len(outputs) > 1
            )
            least = min(len(one.explained - other.explained), len(other.explained - one.explained))
            if by_output or least >= 2:
                found.append((not by_output, len(one.denied) + len(other.denied), one, other))
    best = min(found, key=lambda f: f[:2], default=None)
    return (best[2], best[3]) if best is not None else None


def partial_explanation(
    exercise: Exercise, explanations: list[Explanation], judged: list[Outcome], questions: set[Question]
) -> Finding | None:
    """The one mistake that explains most of what is wrong, though not all of it."""
    ranked = sorted(explanations, key=lambda a: -len(a.explained))
    if not ranked or len(ranked[0].explained) < max(2, MIN_SHARE * len(questions)):
        return None
    best = ranked[0]
    right = {(o.case.name, c.name) for o in judged for c in o.outputs if c.ok}
    cases = {case for case, _ in questions if all(q in best.explained for q in questions if q[0] == case)}
    if best.numbers < MIN_PREDICTED or not cases or best.denied & right:
        return None
    if any(a.name != best.name and len(a.explained) == len(best.explained) for a in ranked[1:]):
        return None  # two fit equally well: neither is sure
    return finding_of(exercise, [best], judged, questions)


def finding_of(
    exercise: Exercise, explanations: list[Explanation], judged: list[Outcome], questions: set[Question]
) -> Finding:
    """The mistake, or the two, with where each shows and where it does not."""
    names = [name for a in explanations for name in a.name]
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
    counts = {"fits": fits, "of": len(cases), "partial": partial}
    if len(names) == 1:
        return declared(exercise, names[0], scope=scope, **counts)
    return Finding(AtOnce(scope, tuple(parts)), **counts)


def declared(exercise: Exercise, name: str, scope: Scope | None = None, **more: Any) -> Finding:
    """The finding that a mistake of the exercise, or of its catalogue, was made."""
    return Finding(Declared.of(name, exercise.all_mistakes[name], scope), **more)
