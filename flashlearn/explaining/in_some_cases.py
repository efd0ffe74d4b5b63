"""A rule that holds of an output in several failing cases but not in all: another mistake changes the rest.

A factor of every element of a tensor is no accident. Where nothing else is known, it is named with the number
of cases that show it, provided that it has a meaning that is the same in all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.exercise import Exercise
from flashlearn.explaining.findings.in_some_cases import InSomeCases
from flashlearn.explaining.findings.rule import SILENT, Clue
from flashlearn.explaining.findings.zero_sign_constants import ConstantFactor, Sign
from flashlearn.explaining.scope import Scope
from flashlearn.outcome import Finding, FindingKind, Outcome

MIN_CASES, MIN_NUMBERS = 2, 32
"""So many cases must show it, with so many numbers together."""


def find_in_some_cases(exercise: Exercise, wrong: Sequence[Outcome]) -> Finding | None:
    """The factor of an output that the most of several wrong cases show, if there is one."""
    clues: dict[str, list[Clue]] = {}
    for outcome in wrong:
        for check in outcome.outputs:
            if not check.ok and check.got is not None and not check.problem:
                clues.setdefault(check.name, []).append(Clue(exercise, outcome, check))
    found = [(name, *seen) for name, some in clues.items() if (seen := _seen(some)) is not None]
    if not found:
        return None
    output, count, kind = max(found, key=lambda one: one[1])
    if count == len(wrong):
        return None  # the rules have been asked what holds in all
    scope = Scope("part", share=(count, len(wrong)))
    silent = tuple(name for name in clues if name != output)
    return Finding(InSomeCases(scope, (Finding(kind),), silent), None, count, len(wrong), partial=True)


def _seen(clues: Sequence[Clue]) -> tuple[int, FindingKind] | None:
    """In how many cases a rule holds of an output, and what it says there."""
    for rule in (Sign, ConstantFactor):
        holds = [(clue, seen) for clue in clues if (seen := rule.ask(clue)) not in (None, SILENT)]
        cases = [clue for clue, _ in holds]
        if len(holds) < MIN_CASES or sum(clue.expected.numel() for clue in cases) < MIN_NUMBERS:
            continue
        kind = rule.agree(cases, [seen for _, seen in holds])
        if not isinstance(kind, ConstantFactor) or kind.meaning is not None:
            return len(holds), kind
    return None
