"""The name of the mistake that was made: one of the exercise's own, or a rule that is certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flashlearn.exercise import Exercise
from flashlearn.judging.symbolic.judging import Verdict, judge
from flashlearn.judging.symbolic.predicted import FITTING_SECONDS, Fits, declared, pair
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status


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
        return declared(exercise, fitting[0], len(judged))
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
    return Finding("swapped", {"outputs": exercise.outputs})


def _rule(exercise: Exercise, outcomes: Sequence[Outcome]) -> Finding | None:
    """What holds of every wrong output: a generic finding each, told once where it is the same."""
    found: list[Finding] = []
    wrong = {c.name for o in outcomes for c in o.outputs if not c.ok}
    cases = sum(any(not c.ok for c in o.outputs) for o in outcomes)
    for name in (n for n in exercise.outputs if n in wrong):
        told = _finding(exercise, outcomes, name)
        if told is None:
            return None
        output = name if len(exercise.outputs) > 1 else None
        found.append(replace(told, facts={**told.facts, "output": output}, fits=cases, of=cases))
    if len({finding.names for finding in found}) != 1:
        return None
    return found[0] if len(found) == 1 else Finding("each output", {}, None, cases, cases, (), tuple(found))


def _finding(exercise: Exercise, outcomes: Sequence[Outcome], output: str) -> Finding | None:
    """The generic finding that fits one output wherever it is wrong.

    A wrong shape says enough where it shows. Where a case holds too few different numbers for a pattern
    (ones and minus ones, say), the sign is still believed if the other cases show it and no entry
    contradicts it.
    """
    found: list[Finding] = []
    silent = 0
    for outcome in outcomes:
        check = next(c for c in outcome.outputs if c.name == output)
        if check.ok:
            continue
        given = exercise.inputs(outcome.case, outcome.case.generator())
        verdict = judge(check.expected, check.got, given, prove=False)
        if verdict.rule == "wrong shape":
            return _not_compared(verdict, outcome)
        if verdict.rule:
            found.append(_not_compared(verdict, outcome))
        elif verdict.pattern is not None:
            pattern = verdict.pattern
            facts = {"pattern": pattern, "case": outcome.case.name}
            found.append(Finding("pattern", facts, called=(pattern.name,)))
        elif _negated(check, given):
            silent += 1
        else:
            return None
    names = {finding.mistake for finding in found}
    return found[0] if names == {"sign"} or (len(names) == 1 and not silent) else None


def _not_compared(verdict: Verdict, outcome: Outcome) -> Finding:
    """The finding about an answer whose form is wrong: the verdict has said how."""
    facts = {"rule": verdict.rule, "seen": verdict.sentence, "case": outcome.case.name}
    return Finding("not compared", facts, called=(verdict.rule,))


def _negated(check: OutputCheck, given: Mapping) -> bool:
    """Whether the answer is minus the right one, exactly."""
    try:
        return judge(-check.expected, check.got, given, seconds=FITTING_SECONDS, prove=False).ok
    except TypeError:  # several values, which have no sign of their own
        return False
