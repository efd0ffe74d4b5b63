"""An answer that changes or returns an input, and whose numbers are wrong as well: a second mistake.

What a launcher does to an input is seen in cases whose numbers are right. Where others have wrong numbers,
the finding says so, and what is wrong with them if one mistake explains them all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from flashlearn.explaining.findings.launcher import ChangedInput, NumbersBesides, ReturnedInput
from flashlearn.explaining.stage import Search
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status


def find_numbers_besides(search: Search, name: Callable[[Search], Finding | None]) -> Finding | None:
    """The finding about the input, with what `name` says of wrong numbers; None if no numbers are wrong."""
    finding = search.finding
    if finding is None or not isinstance(finding.kind, ChangedInput | ReturnedInput):
        return None
    judged = [_by_numbers(outcome) for outcome in search.outcomes]
    wrong = [o for o in judged if o.status is Status.WRONG]
    checks = [check for o in wrong for check in o.outputs if not check.ok]
    if not wrong or any(check.problem or _holds_nothing(check) for check in checks):
        return None
    second = name(replace(search, outcomes=judged, finding=None, pairs=False, repairs=[]))
    if second is not None and not _explains_all(second):
        second = None
    outputs = tuple(o for o in search.exercise.outputs if any(check.name == o for check in checks))
    parts = (finding,) if second is None else (finding, second)
    failing = sum(o.status is not Status.PASS for o in search.outcomes)
    kind = NumbersBesides(outputs, wrong[0].case.name, len(wrong), failing, parts)
    return Finding(kind, second.place if second is not None else None, partial=True)


def _by_numbers(outcome: Outcome) -> Outcome:
    """The outcome as it would be if nothing but numbers were asked for."""
    if outcome.status is not Status.WRONG or not outcome.fault:
        return outcome
    right = all(check.ok for check in outcome.outputs)
    return replace(outcome, status=Status.PASS if right else Status.WRONG, fault=())


def _holds_nothing(check: OutputCheck) -> bool:
    """Whether no program stored anything into the output: it still has the input's numbers."""
    return check.writers is not None and bool((check.writers < 0).all())


def _explains_all(finding: Finding) -> bool:
    kinds: Sequence = [one.kind for one in (finding, *finding.parts)]
    vague = any(kind.locates or kind.vague or kind.observed or kind.hides for kind in kinds)
    return not vague and not finding.partial and finding.fits == finding.of > 0
