"""Rules for mistakes that no exercise foresaw. Each looks at one wrong output and says what it saw.

A rule is a function of a `Clue` that answers with a Finding, with None where it does not hold, or with
SILENT where it cannot tell. `RULES` lists them, surest first. A rule stands if it holds in every case
in which the output came out wrong, and in which it can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from flashlearn.outcome import Finding
from flashlearn.rules.clue import SILENT, Clue, Said
from flashlearn.rules.factors import with_meaning
from flashlearn.rules.kept import agreed, kept_part
from flashlearn.rules.places import (
    never_written,
    not_finite,
    ragged_tail,
    some_heads,
    some_programs,
    some_rows,
)
from flashlearn.rules.reading import never_read, with_place
from flashlearn.rules.values import (
    added_constant,
    constant_factor,
    exchanged,
    permuted_heads,
    precision,
    row_factor,
    shape,
    shifted,
    sign,
    transposed,
    written_twice,
)

Rule = Callable[[Clue], Said]

SURE: tuple[Rule, ...] = (
    shape,
    never_written,
    never_read,
    exchanged,
    sign,
    transposed,
    constant_factor,
    added_constant,
    permuted_heads,
    shifted,
    written_twice,
    kept_part,
    row_factor,
)
"""Rules that name what was done: the numbers leave no other reading."""

PLACES: tuple[Rule, ...] = (not_finite, precision, some_heads, ragged_tail, some_programs, some_rows)
"""Rules that say where to look."""

RULES = SURE + PLACES

__all__ = ["PLACES", "RULES", "SURE", "Clue", "Rule", "standing"]


SHARE = 0.7
"""A rule must speak in so many of the cases that are wrong; in the others it may be unable to tell."""


def standing(rules: Sequence[Rule], clues: Sequence[Clue]) -> Finding | None:
    """The first rule that holds in every case of one output, as a finding."""
    ordered = sorted(
        clues, key=lambda clue: clue.check.got.numel() if hasattr(clue.check.got, "numel") else 0
    )
    for rule in rules:
        holds = _holds(rule, ordered)
        if holds and len(holds) >= (0 if rule is shape else SHARE) * len(clues):
            finding = _as_one([clue for clue, _ in holds], [answer for _, answer in holds])
            if finding is not None:
                return replace(finding, fits=len(holds), of=len(clues))
    return None


def _holds(rule: Rule, clues: Sequence[Clue]) -> list[tuple[Clue, Finding]]:
    """Where the rule holds; nowhere, if there is a case in which it could tell and does not hold."""
    holds = []
    for clue in clues:
        answer = _ask(rule, clue)
        if answer is None and rule is not shape:
            return []
        if isinstance(answer, Finding):
            holds.append((clue, answer))
    return holds


def _as_one(clues: Sequence[Clue], findings: Sequence[Finding]) -> Finding | None:
    """One finding of those of several cases."""
    if "unread" in findings[0].evidence:
        return with_place(clues, findings)
    if "names" in findings[0].evidence:
        return agreed(findings)
    return with_meaning(clues, findings)


def _ask(rule: Rule, clue: Clue) -> Said:
    if rule is shape:
        return shape(clue)
    comparable = clue.check.got is not None and not clue.check.problem
    return rule(clue) if comparable else SILENT
