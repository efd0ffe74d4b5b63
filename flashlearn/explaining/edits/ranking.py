"""Which edit to try first: the odds of its kind, what the wrong cases have in common, and its place."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flashlearn.explaining.edits.accesses import FILL_VALUE
from flashlearn.explaining.edits.comparisons import COMPARISON
from flashlearn.explaining.edits.odds import odds
from flashlearn.explaining.edits.source_text import Edit
from flashlearn.outcome import Outcome, Status

MINORITY = 0.4
"""A tag characterises the wrong cases if less than this share of the right ones has it."""


@dataclass(frozen=True)
class Hints:
    """What is known of the place of the mistake, for each section of the answer; lines count from 1.

    `divergence` is the line where the values first depart from those of a right kernel, or None. `address`
    are the lines that decide the address or mask of a wrong access, `suspects` those on which exactly the
    wrong outputs depend, and `operands` those that assign what a line reads in which a NaN appears. Each of
    these three may be empty for all sections, if nothing is known.
    """

    divergence: Sequence[int | None]
    address: Sequence[set[int]] = ()
    operands: Sequence[set[int]] = ()
    suspects: Sequence[set[int]] = ()


def ranked(
    edits: Iterable[tuple[int, Edit]], outcomes: Sequence[Outcome], hints: Hints
) -> list[tuple[int, Edit]]:
    """The edits, each with the number of its section, the likeliest first.

    Edits that need evidence which the outcomes do not give are left out.
    """
    rank = _Ranking(outcomes, hints)
    possible = (one for one in edits if one[1].kind.requires in rank.evidence)
    return sorted(possible, key=lambda one: -rank.likelihood(*one))


class _Ranking:
    """How likely an edit is, given the outcomes and the hints."""

    def __init__(self, outcomes: Sequence[Outcome], hints: Hints):
        self.hints, self.table = hints, odds()
        statuses = {o.status for o in outcomes}
        tag = _common_tag(outcomes, self.table.tags)
        self.memory_fault = bool(statuses & {Status.OUT_OF_BOUNDS, Status.RACE})
        self.only_races = self.memory_fault and Status.OUT_OF_BOUNDS not in statuses
        self.by_kind: Mapping[str, float] = self.table.tags.get(tag, {})
        self.other_kinds = self.table.factors["other kinds"] if self.by_kind else 1.0
        self.by_about = self.table.about["strided" if tag == "strided" else "any"]
        if self.memory_fault:
            self.by_kind, self.other_kinds = self.table.cases["out of bounds"], 1.0
            self.by_about = self.table.about["race" if self.only_races else "out of bounds"]
        elif Status.PASS not in statuses:
            self.by_kind, self.other_kinds = self.table.cases["everywhere"], 1.0
        self.only_causal = _only_causal(outcomes)
        self.only_with_heads = tag != "strided" and _only_with_heads(outcomes)
        self.wrong_in_fp32 = any(o.status is not Status.PASS and o.case.dtype.itemsize > 2 for o in outcomes)
        self.evidence = {
            "",
            *(["nan"] if any(map(_not_finite, outcomes)) else ()),
            *(["race"] if Status.RACE in statuses else ()),
            # elsewhere another size repairs a kernel by luck
            *(["access slice"] if hints.address else ()),
        }

    def likelihood(self, section: int, edit: Edit) -> float:
        """A number that is larger for a likelier edit of a section."""
        kind, hints, factors = edit.kind, self.hints, self.table.factors
        likely = self.table.of(kind.name, edit.variant)
        likely *= self.by_kind.get(kind.name, self.other_kinds) * self.by_about.get(edit.about, 1.0)
        if edit.also and not kind.often_repeated:
            likely *= factors["repeated"]
        if self.only_causal and edit.causal and not kind.lengthens_loop:
            likely *= factors["causal branch"]
        if self.only_with_heads and edit.heads:
            likely *= factors["heads"]
        lines = {edit.line, *edit.also}
        in_address = bool(hints.address) and bool(lines & hints.address[section])
        if hints.address and not in_address and not kind.inserts_statement:
            likely *= factors["unlikely"]
        elif hints.address and kind.mixes_names:
            likely *= factors["mixed names in address"]
        elif hints.address and kind.changes_values:
            likely *= factors["unlikely"]
        if hints.suspects and hints.suspects[section] and not lines & hints.suspects[section]:
            likely *= factors["outside suspect lines"]
        if self.wrong_in_fp32 and kind.changes_dtype and edit.old.endswith("dtype"):
            likely *= factors["unlikely"]  # in fp32 cases that is fp32 already
        if self.memory_fault and kind is COMPARISON and "=" in edit.new.replace(edit.old, ""):
            likely *= factors["unlikely"]  # the comparison would admit more indices, not fewer
        if hints.operands and lines & hints.operands[section]:
            likely *= factors["operand of NaN"] * (
                factors["fill value of NaN"] if kind is FILL_VALUE else 1.0
            )
        bounds_access = self.memory_fault and not self.only_races and edit.about == "mask" and in_address
        at_divergence = hints.divergence[section] in lines
        return likely * (factors["at divergence"] if at_divergence or bounds_access else 1.0)


def _only_causal(outcomes: Sequence[Outcome]) -> bool:
    """True if only cases with a causal mask are wrong, and there are others."""
    wrong = [o.case.name for o in outcomes if o.status is not Status.PASS]
    right = [o.case.name for o in outcomes if o.status is Status.PASS]
    others = any("causal" not in name for name in right)
    return others and all("causal" in name and "not causal" not in name for name in wrong)


def _only_with_heads(outcomes: Sequence[Outcome]) -> bool:
    """True if only cases with several heads, or a batch, are wrong, and others are right."""

    def several(outcome: Outcome) -> bool:
        sizes = outcome.case.sizes
        return sizes.get("B", 1) * sizes.get("H", sizes.get("H_q", 1)) > 1

    wrong = [several(o) for o in outcomes if o.status is not Status.PASS]
    right = [several(o) for o in outcomes if o.status is Status.PASS]
    return all(wrong) and not all(right) and sum(right) < MINORITY * len(right)


def _not_finite(outcome: Outcome) -> bool:
    """True if an output holds NaN or an infinity, and should not."""
    return any(not c.ok and not c.problem and not math.isfinite(c.error) for c in outcome.outputs)


def _common_tag(outcomes: Sequence[Outcome], tags: Iterable[str]) -> str:
    """The tag of all wrong cases and few of the right ones; "" if there is none."""
    wrong = [o.case.tags for o in outcomes if o.status is not Status.PASS]
    right = [o.case.tags for o in outcomes if o.status is Status.PASS]
    shares = {
        tag: sum(tag in tags for tags in right) / max(len(right), 1)
        for tag in tags
        if all(tag in tags for tags in wrong)
    }
    tag = min(shares, key=lambda tag: shares[tag], default="")
    return tag if shares.get(tag, 1.0) < MINORITY else ""
