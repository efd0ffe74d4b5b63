"""Which edit to try first: the odds of its kind, what the wrong cases have in common, and its place.

The odds that an edit repairs a wrong answer are in `odds.json`, which says where its figures come from;
`python -m tests.corpus.fit_odds` counts most of them anew on the corpus.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from flashlearn.explaining.edits.accesses import FILL_VALUE
from flashlearn.explaining.edits.comparisons import COMPARISON
from flashlearn.explaining.edits.conditions import NEGATED
from flashlearn.explaining.edits.edit import Edit
from flashlearn.explaining.edits.head_names import identifiers
from flashlearn.explaining.edits.index_order import INDEX_ORDER
from flashlearn.explaining.edits.operators import OPERATOR
from flashlearn.outcome import Outcome, Status

MINORITY = 0.4
"""A tag characterises the wrong cases if less than this share of the right ones has it."""


@dataclass(frozen=True)
class Hints:
    """What is known of the place of the mistake, for each section of the answer; lines count from 1.

    `divergence` is the line where the values first depart from those of a right kernel, or None. `address`
    are the lines that decide the address or mask of a wrong access, `suspects` those on which exactly the
    wrong outputs depend, and `operands` those that assign what a line reads in which a NaN appears.
    `conditions` are the lines of the masks and tests on which the divergence depends. Each of
    these four may be empty for all sections, if nothing is known.
    """

    divergence: Sequence[int | None]
    address: Sequence[set[int]] = ()
    operands: Sequence[set[int]] = ()
    suspects: Sequence[set[int]] = ()
    conditions: Sequence[set[int]] = ()


def ranked(
    edits: Iterable[tuple[int, Edit]], outcomes: Sequence[Outcome], hints: Hints
) -> list[tuple[int, Edit]]:
    """The edits, each with the number of its section, the likeliest first.

    Edits that need evidence which the outcomes do not give are left out.
    """
    rank = _Ranking(outcomes, hints)
    possible = (one for one in edits if one[1].kind.requires in rank.evidence)
    return sorted(possible, key=lambda one: -rank.likelihood(*one))


@dataclass(frozen=True)
class Situation:
    """What the wrong cases of an answer have in common.

    `tag` is the one that characterises them, or "". A `memory_fault` is an access out of bounds or a race; a
    `negative_index` is one below 0 in such an access.
    """

    tag: str
    memory_fault: bool
    only_races: bool
    negative_index: bool
    everywhere: bool
    only_causal: bool
    only_with_heads: bool
    only_with_both: bool
    only_other_lengths: bool

    @property
    def table(self) -> str:
        """The table of factors by kind that applies: a tag, one of `Odds.cases`, or "" for none."""
        return "out of bounds" if self.memory_fault else "everywhere" if self.everywhere else self.tag

    @property
    def about(self) -> str:
        """The table of factors by what an edit is about."""
        if self.memory_fault:
            return "race" if self.only_races else "out of bounds"
        return "strided" if self.tag == "strided" else "any"


def situation_of(outcomes: Sequence[Outcome]) -> Situation:
    """What the wrong ones of these outcomes have in common."""
    statuses, tag = {o.status for o in outcomes}, _common_tag(outcomes, odds().tags)
    memory_fault = bool(statuses & {Status.OUT_OF_BOUNDS, Status.RACE})
    return Situation(
        tag,
        memory_fault,
        only_races=memory_fault and Status.OUT_OF_BOUNDS not in statuses,
        negative_index=any(map(_is_negative, outcomes)),
        everywhere=Status.PASS not in statuses,
        only_causal=_only_causal(outcomes),
        only_with_heads=tag != "strided" and _only_with_heads(outcomes),
        only_with_both=_only(outcomes, lambda sizes: min(sizes.get("B", 1), sizes.get("H", 1)) > 1),
        only_other_lengths=_only(outcomes, lambda sizes: sizes.get("S_q") != sizes.get("S_k")),
    )


class _Ranking:
    """How likely an edit is, given the outcomes and the hints."""

    def __init__(self, outcomes: Sequence[Outcome], hints: Hints):
        self.hints, self.table = hints, odds()
        self.situation = found = situation_of(outcomes)
        self.by_kind: Mapping[str, float] = {**self.table.tags, **self.table.cases}.get(found.table, {})
        self.other_kinds = self.table.factors["other kinds"] if found.table in self.table.tags else 1.0
        self.by_about = self.table.about[found.about]
        self.wrong_in_fp32 = any(o.status is not Status.PASS and o.case.itemsize > 2 for o in outcomes)
        known = {
            "nan": any(map(_not_finite, outcomes)),
            "race": any(o.status is Status.RACE for o in outcomes),
            "form": _all_of_another_form(outcomes),
            "access slice": bool(hints.address),  # elsewhere another size repairs a kernel by luck
        }
        self.evidence = {"", *(name for name, given in known.items() if given)}

    def likelihood(self, section: int, edit: Edit) -> float:
        """A number that is larger for a likelier edit of a section."""
        kind, hints, factors, found = edit.kind, self.hints, self.table.factors, self.situation
        likely = self.table.of(kind.name, edit.variant)
        likely *= self.by_kind.get(kind.name, self.other_kinds) * self.by_about.get(edit.about, 1.0)
        if edit.also and not kind.often_repeated:
            likely *= factors["repeated"]
        if found.only_causal and edit.causal and not kind.lengthens_loop:
            likely *= factors["causal branch"]
        if found.only_with_heads and edit.heads:
            likely *= factors["heads"]
        if found.only_other_lengths and _exchanges_lengths(edit):
            likely *= factors["lengths"]
        if found.only_with_both and kind is INDEX_ORDER:
            likely *= factors["batch and head"]
        if found.memory_fault and _exchanges_quotient(edit):
            likely *= factors["quotient or remainder"]
        if edit.reads_unread:
            likely *= factors["unread name"]
        lines = {edit.line, *edit.also}
        in_address = bool(hints.address) and bool(lines & hints.address[section])
        if found.negative_index and kind is OPERATOR and _adds(edit):
            likely *= factors["minus of a negative index"]  # it may be in the caller of what accesses
        elif hints.address and not in_address and not kind.inserts_statement:
            likely *= factors["unlikely"]
        elif hints.address and kind.mixes_names:
            likely *= factors["mixed names in address"]
        elif hints.address and kind.changes_values and not _exchanges_clamp(edit):
            likely *= factors["unlikely"]
        decides = (
            bool(hints.conditions) and self._is_condition(edit) and edit.line in hints.conditions[section]
        )
        suspects = hints.suspects[section] if hints.suspects and not decides else ()
        if suspects and not lines & suspects:
            likely *= factors["outside suspect lines"]
        if "form" in self.evidence and (kind.changes_dtype or kind.name == "argument order"):
            likely *= factors["form"]
        own_dtype = edit.old.endswith("dtype") or edit.new.endswith("dtype=torch.float32)")
        if self.wrong_in_fp32 and kind.changes_dtype and own_dtype:
            likely *= factors["unlikely"]  # in fp32 cases that is fp32 already
        if found.memory_fault and kind is COMPARISON and "=" in edit.new.replace(edit.old, ""):
            likely *= factors["unlikely"]  # the comparison would admit more indices, not fewer
        if hints.operands and lines & hints.operands[section]:
            fill_value = factors["fill value of NaN"] if kind is FILL_VALUE else 1.0
            likely *= factors["operand of NaN"] * fill_value
        bounds_access = found.memory_fault and not found.only_races and edit.about == "mask" and in_address
        at_divergence = hints.divergence[section] in lines or decides
        return likely * (factors["at divergence"] if at_divergence or bounds_access else 1.0)

    def _is_condition(self, edit: Edit) -> bool:
        """True for an edit of a comparison or of a test."""
        return edit.about == "mask" or edit.kind is NEGATED


def _exchanges_quotient(edit: Edit) -> bool:
    """True if the edit puts a quotient in the place of a remainder, or the reverse."""
    return edit.kind is OPERATOR and (
        edit.old.replace("%", "//", 1) == edit.new or edit.old.replace("//", "%", 1) == edit.new
    )


def _exchanges_clamp(edit: Edit) -> bool:
    """True for a minimum in the place of a maximum, or the reverse: it may limit an index."""
    old, new = (re.sub(r"\bmax(imum)?\b", r"min\1", each, count=1) for each in (edit.old, edit.new))
    return old == new


def _is_negative(outcome: Outcome) -> bool:
    """True if an access out of bounds has an index below 0."""
    outside = outcome.status is Status.OUT_OF_BOUNDS
    return outside and bool({"below", ("cause", "below")} & {*outcome.fault})


def _adds(edit: Edit) -> bool:
    """True for a sum in the place of a difference."""
    return edit.new.count("+") > edit.old.count("+") and edit.new.count("-") < edit.old.count("-")


def _exchanges_lengths(edit: Edit) -> bool:
    """True if the edit puts a name of the keys for one of the queries, or the reverse: S_k for S_q."""
    old, new = identifiers(edit.old), identifiers(edit.new)
    pairs = itertools.product(old - new, new - old)
    return len(old ^ new) == 2 and any(
        a != b and a.lower().replace("q", "k") == b.lower().replace("q", "k") for a, b in pairs
    )


def _only_causal(outcomes: Sequence[Outcome]) -> bool:
    """True if only cases with a causal mask are wrong, and there are others."""
    wrong = [o.case.name for o in outcomes if o.status is not Status.PASS]
    right = [o.case.name for o in outcomes if o.status is Status.PASS]
    others = any("causal" not in name for name in right)
    return others and all("causal" in name and "not causal" not in name for name in wrong)


def _only(outcomes: Sequence[Outcome], holds: Callable[[Mapping[str, int]], bool]) -> bool:
    """True if this holds for the sizes of every wrong case, and not for those of every right one."""
    wrong = [holds(o.case.sizes) for o in outcomes if o.status is not Status.PASS]
    right = [holds(o.case.sizes) for o in outcomes if o.status is Status.PASS]
    return all(wrong) and not all(right)


def _only_with_heads(outcomes: Sequence[Outcome]) -> bool:
    """True if only cases with several heads, or a batch, are wrong, and others are right."""

    def several(outcome: Outcome) -> bool:
        sizes = outcome.case.sizes
        return sizes.get("B", 1) * sizes.get("H", sizes.get("H_q", 1)) > 1

    wrong = [several(o) for o in outcomes if o.status is not Status.PASS]
    right = [several(o) for o in outcomes if o.status is Status.PASS]
    return all(wrong) and not all(right) and sum(right) < MINORITY * len(right)


def _all_of_another_form(outcomes: Sequence[Outcome]) -> bool:
    """True if every wrong case has an output of another shape or dtype than it should have."""
    wrong = [o for o in outcomes if o.status is not Status.PASS]
    return bool(wrong) and all(any(c.misfit is not None for c in o.outputs) for o in wrong)


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


@dataclass(frozen=True)
class Odds:
    """The odds by kind and variant, and factors of these odds.

    `tags` apply if only cases with one tag are wrong, `cases` if all are ("everywhere") or an access is out
    of bounds or races ("out of bounds"), `about` by what an edit is about, `factors` by where it is.
    """

    kinds: Mapping[str, Sequence[float]]
    tags: Mapping[str, Mapping[str, float]]
    cases: Mapping[str, Mapping[str, float]]
    about: Mapping[str, Mapping[str, float]]
    factors: Mapping[str, float]

    def of(self, kind: str, variant: int) -> float:
        """The odds of a kind's variant; after the last one with a figure they decrease like 1, 1/2, 1/3."""
        known = self.kinds[kind]
        return known[min(variant, len(known) - 1)] / (1 + max(0, variant - len(known) + 1))


def parsed(text: str) -> Odds:
    """The odds in the text of such a file."""
    data = json.loads(text)
    kinds = {name: tuple(entry["odds"]) for name, entry in data["kinds"].items()}
    return Odds(kinds, data["tags"], data["cases"], data["about"], data["factors"])


@functools.cache
def odds() -> Odds:
    """The odds that ship with the package, read once."""
    return parsed(files(__package__).joinpath("odds.json").read_text(encoding="utf-8"))
