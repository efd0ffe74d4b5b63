"""A declared mistake that gives some outputs of an answer, where a second mistake changes the others.

In a forward and a backward pass there may be one mistake each: what is wrong with O and LSE is then seen in
their numbers, and the gradients show both. Only numbers that were predicted in every failing case are proof
enough.
"""

from __future__ import annotations

from typing import NamedTuple

from flashlearn.exercise import Exercise
from flashlearn.explaining.explanations import Explanation, Question, declared
from flashlearn.explaining.findings.declared import speaks_of
from flashlearn.explaining.findings.some_outputs import InSomeOutputs
from flashlearn.outcome import Finding

MIN_CASES, MIN_NUMBERS = 2, 32
"""So many cases must show it, with so many wrong numbers."""


class _Share(NamedTuple):
    """What a mistake explains: these outputs, wherever they are wrong."""

    outputs: frozenset[str]
    explanation: Explanation


def some_outputs(
    exercise: Exercise, explanations: list[Explanation], questions: set[Question]
) -> Finding | None:
    """The one mistake that explains some outputs wherever they are wrong."""
    wrong = {output for _, output in questions}
    shares = [share for one in explanations if (share := _share_of(exercise, one, questions)) is not None]
    best = max(shares, key=lambda share: len(share.outputs), default=None)
    if best is None:
        return None
    most = [share for share in shares if len(share.outputs) == len(best.outputs)]
    if len({share.explanation.name for share in most}) > 1:
        return None  # two fit equally well: neither is sure
    shows, others = (
        tuple(name for name in exercise.outputs if name in some)
        for some in (best.outputs, wrong - best.outputs)
    )
    part = declared(exercise, best.explanation.name[0])
    cases = {case for case, _ in questions}
    return Finding(InSomeOutputs(shows, others, (part,)), of=len(cases), partial=True)


def _share_of(exercise: Exercise, explanation: Explanation, questions: set[Question]) -> _Share | None:
    """The outputs that it explains wherever they are wrong, and that are right nowhere in spite of it.

    None if there are none or too little speaks for it, and if its words are about an output that has other
    numbers.
    """
    wrong, against = {output for _, output in questions}, {output for _, output in explanation.denied}
    own = {
        output
        for output in wrong - against
        if all(question in explanation.explained for question in questions if question[1] == output)
    }
    cases = {case for case, _ in questions}
    shown = {case for case, output in questions if output in own}
    if not own or own == wrong or shown != cases or len(cases) < MIN_CASES:
        return None
    if explanation.numbers < MIN_NUMBERS:
        return None
    mistake = exercise.all_mistakes[explanation.name[0]]
    if any(speaks_of(mistake, output) for output in wrong - own):
        return None
    return _Share(frozenset(own), explanation)
