"""The name of the mistake that was made: one of the exercise's own, or a rule that is certain."""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.exercise import Exercise, Mistake
from flashlearn.outcome import Finding, Outcome, Status
from flashlearn.symbolic import words
from flashlearn.symbolic.judging import judge
from flashlearn.symbolic.patterns import Pattern
from flashlearn.symbolic.running import by_name, copies

FITTING_SECONDS = 4.0

RULES = {
    "wrong type": "Return a sympy expression built from the arguments.",
    "wrong shape": "Compare the shape of what you return with the exercise's text.",
    "transposed": "Transpose it with .T, and ask which of the two index the rows belong to.",
    "unevaluated": "Call .doit() on the result before you return it.",
    "unknown symbol": "Use the symbols that your function is given, not new ones.",
    "undefined": "Try your function with small numbers by hand: where does it divide by zero?",
}


def name_mistake(exercise: Exercise, outcomes: Sequence[Outcome]) -> Finding | None:
    """The named mistake that gives the learner's answer in every case, else a rule that fits every wrong one.

    Nothing is named on a guess: where two mistakes fit, or a pattern holds in some cases only, the
    counterexample has to do.
    """
    judged = [o for o in outcomes if o.outputs]
    if not judged or len(judged) < len(exercise.cases) or all(o.status is Status.PASS for o in judged):
        return None
    fitting = {name: m for name, m in exercise.mistakes.items() if m.wrong and _fits(exercise, m, judged)}
    if len(fitting) == 1:
        name, mistake = next(iter(fitting.items()))
        return Finding(name, mistake.sentence, mistake.next_step, fits=len(judged), of=len(judged))
    return _swapped(exercise, judged) or _rule(exercise, judged)


def _fits(exercise: Exercise, mistake: Mistake, outcomes: Sequence[Outcome]) -> bool:
    """Whether the mistake gives this very answer in every case, and a wrong one where the answer is wrong."""
    return all(_fits_case(exercise, mistake, outcome) for outcome in outcomes)


def _fits_case(exercise: Exercise, mistake: Mistake, outcome: Outcome) -> bool:
    given = exercise.inputs(outcome.case, outcome.case.generator())
    try:
        wrong = by_name(exercise, mistake.wrong(**copies(given)))
    except Exception:  # a mistake need not be defined in every case: then it is not this one
        return False
    if wrong is None:
        return False
    for check in outcome.outputs:
        if not judge(wrong[check.name], check.got, given, seconds=FITTING_SECONDS, prove=False).ok:
            return False
    return True


def _swapped(exercise: Exercise, outcomes: Sequence[Outcome]) -> Finding | None:
    """Two outputs in each other's place."""
    if len(exercise.outputs) != 2 or any(len(o.outputs) != 2 for o in outcomes):
        return None
    for outcome in outcomes:
        given = exercise.inputs(outcome.case, outcome.case.generator())
        first, second = outcome.outputs
        crossed = ((first.expected, second.got), (second.expected, first.got))
        if not all(judge(e, g, given, seconds=FITTING_SECONDS, prove=False).ok for e, g in crossed):
            return None
    a, b = exercise.outputs
    return Finding("swapped", f"{a} and {b} are in each other's place.", f"Return {a}, {b} in this order.")


def _rule(exercise: Exercise, outcomes: Sequence[Outcome]) -> Finding | None:
    """A generic finding, if the same one holds of one output in every wrong case."""
    wrong = [(o, c) for o in outcomes for c in o.outputs if not c.ok]
    if len({c.name for _, c in wrong}) != 1:
        return None
    patterns: list[Pattern] = []
    for outcome, check in wrong:
        given = exercise.inputs(outcome.case, outcome.case.generator())
        verdict = judge(check.expected, check.got, given, prove=False)
        if verdict.rule:
            patterns.append(Pattern(verdict.rule, verdict.sentence, RULES.get(verdict.rule, "")))
        elif verdict.pattern is not None:
            patterns.append(verdict.pattern)
    if len(patterns) < len(wrong) or len({p.name for p in patterns}) != 1:
        return None
    found = patterns[0]
    sentence = words.capital(found.sentence).rstrip(".") + "."
    return Finding(found.name, sentence, found.next_step, fits=len(wrong), of=len(wrong))
