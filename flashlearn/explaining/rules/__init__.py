"""Rules for mistakes that no exercise foresaw. Each looks at one wrong output and says what it saw.

A `Rule` has the kind of its findings, and looks at a `Clue`: it answers with the facts, with None where it
does not hold, or with SILENT where it cannot tell. `RULES` lists them, surest first. A rule stands if it
holds in every case in which the output came out wrong, and in which it can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flashlearn.explaining.rules.clue import Clue, Rule
from flashlearn.explaining.rules.kept import kept_part
from flashlearn.explaining.rules.layouts import stored_with_other_strides
from flashlearn.explaining.rules.numbers import (
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
    zero,
)
from flashlearn.explaining.rules.places import (
    never_written,
    not_finite,
    ragged_tail,
    some_heads,
    some_programs,
    some_rows,
)
from flashlearn.explaining.rules.reading import never_read
from flashlearn.outcome import Finding

SURE: tuple[Rule, ...] = (
    shape,
    never_written,
    never_read,
    exchanged,
    zero,
    sign,
    transposed,
    stored_with_other_strides,
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

VAGUE = {rule.kind for rule in PLACES}
"""Findings that say where to look, not what was done."""

__all__ = ["PLACES", "RULES", "SURE", "VAGUE", "Clue", "Rule", "about_form", "standing"]


SHARE = 0.7
"""A rule must speak in so many of the cases that are wrong; in the others it may be unable to tell."""


def standing(rules: Sequence[Rule], clues: Sequence[Clue]) -> Finding | None:
    """The first rule that holds in every case of one output, as a finding."""
    ordered = sorted(
        clues, key=lambda clue: clue.check.got.numel() if hasattr(clue.check.got, "numel") else 0
    )
    for rule in rules:
        holds = _holds(rule, ordered)
        if holds and len(holds) >= (0 if rule.form else SHARE) * len(clues):
            finding = rule.agree([clue for clue, _ in holds], [answer for _, answer in holds])
            if finding is not None:
                tried = len(clues) if rule.form else len(holds)  # where it can tell, it holds
                return replace(finding, fits=len(holds), of=tried)
    return None


def _holds(rule: Rule, clues: Sequence[Clue]) -> list[tuple[Clue, Finding]]:
    """Where the rule holds; nowhere, if there is a case in which it could tell and does not hold."""
    holds = []
    for clue in clues:
        answer = rule(clue)
        if answer is None and not rule.form:
            return []
        if isinstance(answer, Finding):
            holds.append((clue, answer))
    return holds


def about_form(finding: Finding) -> bool:
    """True for a finding about outputs that cannot be compared, and about nothing else."""
    kinds = {rule.kind for rule in RULES if rule.form}
    return all(part.kind.name in kinds for part in finding.parts or (finding,))
