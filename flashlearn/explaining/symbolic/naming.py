"""The name of the mistake that was made: one of the exercise's own, or a rule that is certain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flashlearn.exercise import Exercise
from flashlearn.explaining.findings.case_status import Crashed
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.outputs import EachOutput, Outputs
from flashlearn.explaining.findings.symbolic import ErrorPattern, NotCompared
from flashlearn.explaining.findings.two_mistakes import Besides
from flashlearn.explaining.symbolic.exchanges import arguments_exchanged, outputs_exchanged
from flashlearn.explaining.symbolic.factor_meaning import Seen, common, of_a_factor
from flashlearn.explaining.symbolic.predictions import FITTING_SECONDS, Fits, declared, pair
from flashlearn.judging.symbolic.cases import run_case
from flashlearn.judging.symbolic.patterns import Pattern
from flashlearn.judging.symbolic.verdict import Verdict, equal, judge
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from flashlearn.running.answer import Answer

ENOUGH_CASES = 2
"""Wrong cases that a mistake must explain to be named beside a crash in the others."""


def name_mistake(
    exercise: Exercise, outcomes: Sequence[Outcome], answer: Answer | None = None
) -> Finding | None:
    """The named mistake that gives the learner's answer in every case, else a rule that fits every wrong one.

    Nothing is named on a guess: where two mistakes fit, or a pattern holds in some cases only, the
    counterexample has to do. With the `answer` at hand, a mistake must also give what it returns in the
    exercise's fresh cases.
    """
    judged = [o for o in outcomes if o.outputs]
    if not judged or all(o.status is Status.PASS for o in judged):
        return None
    fresh = [run_case(exercise, answer, case) for case in exercise.explained.fresh] if answer else []
    table = Fits(exercise, judged, [o for o in fresh if o.outputs])
    if len(judged) < len(exercise.cases):
        return _besides(table, outcomes)
    fitting = [name for name in table.names if table.whole(name)]
    if len(fitting) == 1:
        return declared(exercise, fitting[0], len(judged))
    if fitting:
        return None
    return outputs_exchanged(table) or pair(table) or arguments_exchanged(table) or _by_output(table)


def _besides(table: Fits, outcomes: Sequence[Outcome]) -> Finding | None:
    """A crash in some cases, and the mistake that the others show, if enough of them do."""
    crashed = [o for o in outcomes if o.status is Status.CRASHED]
    wrong = [o for o in table.outcomes if o.status is Status.WRONG]
    if len(wrong) < ENOUGH_CASES or len(crashed) + len(table.outcomes) < len(table.exercise.cases):
        return None
    fitting = [name for name in table.names if table.whole(name)]
    if len(fitting) != 1:
        return None
    first = crashed[0]
    fault = Finding(Crashed(first.message, first.case.name), first.place)
    parts = (fault, declared(table.exercise, fitting[0], len(table.outcomes)))
    return Finding(Besides(parts), first.place, len(wrong), len(wrong), partial=True)


def _by_output(table: Fits) -> Finding | None:
    """What holds of every wrong output by itself: a mistake that shows there alone, else a generic finding.

    A declared mistake is named even if nothing is known of another output: that this one is right with it
    has been tried.
    """
    wrong = table.wrong_outputs()
    cases = sum(any(not c.ok for c in o.outputs) for o in table.outcomes)
    by_output: dict[str, Finding] = {}
    for name in wrong:
        own = _own(table, name) or _finding(table, name)
        if own is not None:
            output = name if len(table.exercise.outputs) > 1 else None
            if isinstance(own.kind, ErrorPattern | NotCompared):
                own = replace(own, kind=replace(own.kind, output=output))
            by_output[name] = replace(own, fits=cases, of=cases)
    if len(by_output) == len(wrong):
        found = tuple(by_output.values())
        return found[0] if len(found) == 1 else Finding(EachOutput(found), None, cases, cases)
    sure = {name: finding for name, finding in by_output.items() if isinstance(finding.kind, Declared)}
    silent = tuple(name for name in wrong if name not in sure)
    if len(sure) != 1:
        return None
    return Finding(Outputs(tuple(sure.values()), silent), partial=True)


def _own(table: Fits, output: str) -> Finding | None:
    """The one declared mistake that gives this output in every case, and leaves the others right."""
    names = table.makers(output)
    return declared(table.exercise, names.pop(), len(table.outcomes)) if len(names) == 1 else None


def _finding(table: Fits, output: str) -> Finding | None:
    """The generic finding that fits one output wherever it is wrong.

    A wrong shape says enough where it shows. Where a case holds too few different numbers for a pattern
    (ones and minus ones, say), the sign is still believed if the other cases show it and no entry
    contradicts it.
    """
    found: list[Finding] = []
    seen: list[Seen] = []
    silent = 0
    for outcome in table.outcomes:
        check = next(c for c in outcome.outputs if c.name == output)
        if check.ok:
            seen.append(Seen(outcome, None))
            continue
        verdict = judge(check.expected, check.got, table.given(outcome), prove=False)
        if verdict.rule == "wrong shape":
            return _not_compared(verdict, outcome)
        if verdict.rule:
            found.append(_not_compared(verdict, outcome))
        elif verdict.pattern is not None:
            seen.append(Seen(outcome, verdict.pattern))
            found.append(_pattern(verdict.pattern, outcome.case.name))
        elif _negated(check, table.given(outcome)):
            silent += 1
        else:
            return None
    if len(seen) == len(table.outcomes) and all(of_a_factor(s.pattern) for s in seen if s.pattern):
        return _of_factors(table, seen)
    names = {finding.mistake for finding in found}
    return found[0] if names == {"sign"} or (len(names) == 1 and not silent) else None


def _of_factors(table: Fits, seen: Sequence[Seen]) -> Finding | None:
    """The finding about a factor that every wrong case has."""
    pattern = common(table, seen)
    if pattern is None:
        return None
    first = next(s for s in seen if s.pattern is not None)
    return _pattern(pattern, first.outcome.case.name if first.pattern is pattern else "")


def _pattern(pattern: Pattern, case: str) -> Finding:
    """The finding about a pattern; the verdict on `case` has said it, if that is named."""
    return Finding(ErrorPattern(pattern, case))


def _not_compared(verdict: Verdict, outcome: Outcome) -> Finding:
    """The finding about an answer whose form is wrong: the verdict has said how."""
    return Finding(NotCompared(verdict.rule, verdict.sentence, outcome.case.name))


def _negated(check: OutputCheck, given: Mapping) -> bool:
    """Whether the answer is minus the right one, exactly."""
    try:
        return equal(-check.expected, check.got, given, seconds=FITTING_SECONDS)
    except TypeError:  # several values, which have no sign of their own
        return False
