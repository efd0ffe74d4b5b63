"""Which answer, or which two, the learner is told; precision comes before recall."""

from __future__ import annotations

from flashlearn.diagnose.answers import Answer, Question
from flashlearn.diagnose.scope import kind_of, scope_of, together
from flashlearn.exercise import Exercise
from flashlearn.outcome import Finding, Outcome, Status

SPECIFIC = 16
"""So many wrong numbers must be foretold before a mistake is named that does not show everywhere."""

MOST = 0.5
"""A mistake that explains less than this share of what is wrong is not named."""


def whole(answers: list[Answer], questions: set[Question], judged: list[Outcome]) -> Answer | None:
    """The answer to all questions that is contradicted least, and fits best."""
    every = [a for a in answers if a.explained | a.excused >= questions and _believable(a, questions, judged)]
    return min(every, key=lambda a: (len(a.denied), a.misfit), default=None)


def _believable(answer: Answer, questions: set[Question], judged: list[Outcome]) -> bool:
    """Whether a mistake may be named although outputs are right in which it would show.

    The numbers must speak for it, and there must be a reason: it was made in one output of several, or in
    one kind of case. NaN in other places than foretold must be the exception.
    """
    if answer.excused and (answer.numbers < SPECIFIC or len(answer.excused) > len(answer.explained)):
        return False
    if not answer.denied:
        return True
    if answer.numbers < SPECIFIC:
        return False
    outputs = {output for _, output in questions}
    others = {output for _, output in answer.denied} - outputs
    same = {q for q in answer.denied if q[1] in outputs}
    return (bool(others) and not same) or kind_of({case for case, _ in questions}, judged) is not None


def between_them(answers: list[Answer], questions: set[Question]) -> tuple[Answer, Answer] | None:
    """Two answers, each sure of its part: one output each, or cases of a kind each."""
    outputs = {output for _, output in questions}
    found = []
    for i, one in enumerate(answers):
        for other in answers[i + 1 :]:
            if one.name == other.name or not one.explained | other.explained >= questions:
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


def mostly(
    exercise: Exercise, answers: list[Answer], judged: list[Outcome], questions: set[Question]
) -> Finding | None:
    """The one mistake that explains most of what is wrong, though not all of it."""
    ranked = sorted(answers, key=lambda a: -len(a.explained))
    if not ranked or len(ranked[0].explained) < max(2, MOST * len(questions)):
        return None
    best = ranked[0]
    right = {(o.case.name, c.name) for o in judged for c in o.outputs if c.ok}
    cases = {case for case, _ in questions if all(q in best.explained for q in questions if q[0] == case)}
    if best.numbers < SPECIFIC or not cases or best.denied & right:
        return None
    if any(a.name != best.name and len(a.explained) == len(best.explained) for a in ranked[1:]):
        return None  # two fit equally well: neither is sure
    return finding(exercise, [best], judged, questions)


def finding(
    exercise: Exercise, answers: list[Answer], judged: list[Outcome], questions: set[Question]
) -> Finding:
    """The sentence, with where the mistake shows and where it does not."""
    names = [name for a in answers for name in a.name]
    mistakes = [exercise.known[name] for name in names]
    if len(answers) == 1:
        explained = answers[0].explained | answers[0].excused
        scope = scope_of(explained, answers[0].denied, judged, questions)
        sentence = together([m.sentence for m in mistakes], scope)
    else:
        explained = answers[0].explained | answers[1].explained
        parts = [scope_of(a.explained & questions, set(), judged, a.explained & questions) for a in answers]
        sentence = together([m.sentence for m in mistakes], "", parts)
    cases = {o.case.name for o in judged if o.status is Status.WRONG}
    fits = sum(all(q in explained for q in questions if q[0] == case) for case in cases)
    return Finding(
        " + ".join(names),
        sentence,
        " ".join(dict.fromkeys(m.next_step for m in mistakes if m.next_step)),
        fits=fits,
        of=len(cases),
    )
