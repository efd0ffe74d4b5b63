"""Asking the rules: which of them holds in every wrong case of an output, and what that makes of all
outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flashlearn.exercise import Exercise
from flashlearn.explaining.failures import attempted
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.rule import SILENT, Clue, Rule
from flashlearn.outcome import Finding, Outcome

SHARE = 0.7
"""A rule must hold in this share of the wrong cases; in the others it may be unable to tell."""


def by_rules(exercise: Exercise, wrong: Sequence[Outcome], rules: Sequence[type[Rule]]) -> Finding | None:
    """What the first of the `rules` that holds says of each wrong output; one that fails is passed over."""
    clues: dict[str, list[Clue]] = {}
    for outcome in wrong:
        for check in outcome.outputs:
            if not check.ok:
                clues.setdefault(check.name, []).append(Clue(exercise, outcome, check))
    first = {name: _first_holding(exercise, rules, seen) for name, seen in clues.items()}
    found = {name: finding for name, finding in first.items() if finding is not None}
    return _combined(found, clues) if found else None


def _first_holding(exercise: Exercise, rules: Sequence[type[Rule]], clues: Sequence[Clue]) -> Finding | None:
    for rule in rules:
        finding = attempted(exercise, f"rule: {rule.name}", holding, [rule], clues)
        if finding is not None:
            return finding
    return None


def _combined(found: dict[str, Finding], clues: dict[str, list[Clue]]) -> Finding:
    """One finding from those of several outputs."""
    first, *others = found.values()
    silent = tuple(name for name in clues if name not in found)
    if not others and not silent:
        return first
    return Finding(Outputs((first, *others), silent), first.place, first.fits, first.of, bool(silent))


def holding(rules: Sequence[type[Rule]], clues: Sequence[Clue]) -> Finding | None:
    """The first rule that holds in every case of one output, as a finding."""
    ordered = sorted(
        clues, key=lambda clue: clue.check.got.numel() if hasattr(clue.check.got, "numel") else 0
    )
    for rule in rules:
        holds = _holds(rule, ordered)
        if holds and len(holds) >= (0 if rule.about_form else SHARE) * len(clues):
            kind = rule.agree([clue for clue, _ in holds], [seen for _, seen in holds])
            if kind is not None:
                asked = len(clues) if rule.about_form else len(holds)  # where it can tell, it holds
                return Finding(kind, fits=len(holds), of=asked)
    return None


def _holds(rule: type[Rule], clues: Sequence[Clue]) -> list[tuple[Clue, Any]]:
    """Where the rule holds; nowhere, if there is a case in which it could tell and does not hold."""
    holds = []
    for clue in clues:
        seen = rule.ask(clue)
        if seen is None and not rule.about_form:
            return []
        if seen is not None and seen is not SILENT:
            holds.append((clue, seen))
    return holds
