"""The name of the mistake that was made: one of the exercise's own, or a rule that is certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flashlearn.exercise import Exercise
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from flashlearn.symbolic import words
from flashlearn.symbolic.judging import judge
from flashlearn.symbolic.pairs import FITTING_SECONDS, Fits, pair
from flashlearn.symbolic.patterns import Pattern

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
    table = Fits(exercise, judged)
    fitting = [name for name in table.names if table.whole(name)]
    if len(fitting) == 1:
        mistake = exercise.mistakes[fitting[0]]
        return Finding(fitting[0], mistake.sentence, mistake.next_step, fits=len(judged), of=len(judged))
    if fitting:
        return None
    return _swapped(exercise, judged) or pair(table) or _rule(exercise, judged)


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
    """What holds of every wrong output: a generic finding each, told once where it is the same."""
    found: dict[str, Pattern] = {}
    wrong = {c.name for o in outcomes for c in o.outputs if not c.ok}
    for name in (n for n in exercise.outputs if n in wrong):
        pattern = _pattern(exercise, outcomes, name)
        if pattern is None:
            return None
        found[name] = pattern
    if len({p.name for p in found.values()}) != 1:
        return None
    several = len(exercise.outputs) > 1
    told = [words.capital(f"{n}: {p.sentence}" if several else p.sentence) for n, p in found.items()]
    first = next(iter(found.values()))
    cases = sum(any(not c.ok for c in o.outputs) for o in outcomes)
    said = " ".join(f"{sentence.rstrip('.')}." for sentence in told)
    return Finding(first.name, said, first.next_step, fits=cases, of=cases)


def _pattern(exercise: Exercise, outcomes: Sequence[Outcome], output: str) -> Pattern | None:
    """The generic finding that fits one output wherever it is wrong.

    A wrong shape says enough where it shows. Where a case holds too few different numbers for a pattern
    (ones and minus ones, say), the sign is still believed if the other cases show it and no entry
    contradicts it.
    """
    patterns: list[Pattern] = []
    silent = 0
    for outcome in outcomes:
        check = next(c for c in outcome.outputs if c.name == output)
        if check.ok:
            continue
        given = exercise.inputs(outcome.case, outcome.case.generator())
        verdict = judge(check.expected, check.got, given, prove=False)
        if verdict.rule == "wrong shape":
            return Pattern(verdict.rule, verdict.sentence, RULES[verdict.rule])
        if verdict.rule:
            patterns.append(Pattern(verdict.rule, verdict.sentence, RULES.get(verdict.rule, "")))
        elif verdict.pattern is not None:
            patterns.append(verdict.pattern)
        elif _negated(check, given):
            silent += 1
        else:
            return None
    names = {p.name for p in patterns}
    return patterns[0] if names == {"sign"} or (len(names) == 1 and not silent) else None


def _negated(check: OutputCheck, given: Mapping) -> bool:
    """Whether the answer is minus the right one, exactly."""
    try:
        return judge(-check.expected, check.got, given, seconds=FITTING_SECONDS, prove=False).ok
    except TypeError:  # several values, which have no sign of their own
        return False
