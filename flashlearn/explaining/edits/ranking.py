"""Which edit to try first: how often such a one has been the right one, and what the wrong cases share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from flashlearn.explaining.edits.source_text import Edit
from flashlearn.outcome import Outcome, Status

ODDS: Mapping[str, Sequence[float]] = {
    "other": (30.0, 11.0),
    "rounded up": (23.0, 1.0),
    "narrow": (20.0,),
    "dtype": (16.0, 6.0),
    "comparison": (12.0, 2.0, 1.0, 1.5),
    "filler": (13.0, 6.0),
    "function": (10.0, 2.0),
    "unmasked": (10.0,),
    "another mask": (12.0, 1.0),
    "pitch": (10.0, 6.0, 4.0),
    "whole blocks": (14.0, 12.0, 10.0),
    "branch": (8.0,),
    "assignment": (8.0, 6.0),
    "statement left out": (6.6, 0.6),
    "added": (3.0,),
    "one off": (2.0,),
    "alike": (8.0, 4.0),
    "not shifted": (4.0, 3.0),
    "program axis": (8.0,),
    "number as it is": (8.0, 4.0),
    "masked in part": (5.0,),
    "guard": (12.0, 9.0),
    "sign": (8.0, 4.0),
    "bound not moved": (4.0, 3.0, 2.0),
    "bounds exchanged": (4.0,),
    "not times its size": (3.0, 1.5, 1.0, 0.7),
    "start": (6.0, 2.0),
    "order": (5.3, 2.0),
    "constant": (5.1, 2.0, 1.4, 1.0),
    "not rescaled": (5.0,),
    "step": (12.0, 4.0, 2.0),
    "hidden lanes": (6.0, 1.5),
    "no axis": (15.0, 8.0),
    "guard kept": (12.0,),
    "a little added": (15.0,),
    "thrown away": (12.0, 6.0, 3.0),
    "rounded down": (4.7,),
    "cast": (5.0, 2.2),
    "transposed": (3.0, 1.6),
    "turned round": (8.0,),
    "below zero": (4.0,),
    "size": (2.0,),
    "unclipped": (3.0,),
    "taken": (0.7,),
    "unwrapped": (1.5,),
    "shifted": (1.5,),
    "divisor": (0.8,),
    "one too many": (3.0,),
    "operator": (2.5, 0.6),
    "dropped": (2.6, 1.5),
    "arguments": (4.5, 1.0),
    "strides": (4.0,),
    "number of tiles": (4.0, 3.0),
    "another size": (5.0, 3.0, 2.0),
    "factor too many": (2.0,),
    "brackets": (5.0, 2.0),
    "factor": (2.5, 1.4, 1.4, 1.0),
    "behind the loop": (2.5,),
    "inside the loop": (2.5,),
    "axis": (1.8,),
    "order of lines": (0.9,),
    "line missing": (8.0,),
    "exchanged": (3.0,),
    "exponential": (4.0, 3.0),
    "summand": (0.8, 0.6),
    "name": (1.2, 0.9, 0.6, 0.4, 0.2, 1.1),
}
"""Of a thousand such edits of wrong answers, so many mended them: by kind, and then by variant."""

BY_TAG: Mapping[str, Mapping[str, float]] = {
    "half": {"cast": 20.0, "dtype": 30.0, "narrow": 30.0},
    "S_q ≠ S_k": {"name": 3.0, "comparison": 2.0, "operator": 2.0},
    "strided": {"strides": 12.0},
    "ragged": {"comparison": 4.0, "rounded up": 4.0, "other": 4.0, "unmasked": 4.0, "filler": 3.0},
    "padded D": {"comparison": 4.0, "name": 2.0, "unmasked": 3.0},
}
"""How much likelier an edit of a kind is where only cases with a tag came out wrong."""

EVERYWHERE: Mapping[str, float] = {
    **dict.fromkeys(("cast", "narrow", "dtype"), 0.1),
    **dict.fromkeys(("rounded up", "rounded down", "filler", "unmasked", "behind the loop"), 0.3),
    **{"comparison": 0.4, "other": 0.5, "order of lines": 0.5},
}
"""The same where every case is wrong: what only halves or ragged sizes would show is unlikely there."""

STRAY: Mapping[str, float] = {
    **dict.fromkeys(("cast", "narrow", "dtype", "function", "factor", "sign", "filler", "other"), 0.1),
    "below zero": 15.0,
    "added": 2.0,
    "masked in part": 2.5,
    **dict.fromkeys(("comparison", "unmasked", "strides", "arguments", "name", "number of tiles"), 2.5),
    "another size": 2.5,
    **dict.fromkeys(("another mask", "whole blocks", "pitch"), 2.5),
    **dict.fromkeys(("bound not moved", "bounds exchanged", "not times its size"), 2.5),
    **dict.fromkeys(("alike", "line missing", "program axis", "number as it is"), 15.0),
}
"""The same where an access went out of bounds."""

OTHERWISE = 0.5
"""And how much less likely all others are there."""

ABOUT: Mapping[str, float] = {"address": 0.4, "strides": 0.4, "mask": 1.5}
ABOUT_STRAY: Mapping[str, float] = {"address": 1.0, "strides": 2.0, "mask": 6.0}
ABOUT_RACE: Mapping[str, float] = {"address": 2.0, "strides": 4.0, "mask": 0.5}
ABOUT_STRIDED: Mapping[str, float] = {"address": 2.0, "strides": 4.0}
"""How much likelier an edit is by what it concerns: in general, where an access went out of bounds, where
programs meet, and where only views came out wrong."""

TWICE = 0.3
"""How much less likely it is that one slip was made in several lines."""

FEW = 0.4
"""A tag says something of the wrong cases where less than this share of the right ones has it."""

ELSEWHERE = 0.03
"""How much less likely it is in a line that has no bearing on an access that went astray."""

OF_VALUES = ("sign", "narrow", "function", "dtype", "filler", "cast", "other", "factor", "branch")
"""Kinds of edits that change what is computed, and not where it lies."""

ADDRESSED = 2.5
"""And how much likelier, in a line that has, that one name stands for another."""

IN_BRANCH = 6.0
"""And in a branch for the causal mask, where only cases with one are wrong."""

OF_HEADS = 12.0
"""And in the names of a batch or a head, where only cases with several of them are wrong."""

UNBOUND = ("unclipped", "statement left out", "function")
"""But not what makes a loop longer: a kernel that hides nothing too much is right, and does too much."""

FEEDING = 5.0
"""How much likelier it is in a line that makes an operand of the operation that a NaN comes from."""

FILLED = 8.0
"""And as much again if it is what hidden lanes hold: that shows in every case, and is no matter of sizes."""

OFF_THE_WAY = 0.15
"""How much less likely it is in a line that does not bear on just the outputs that are wrong."""

NEAR = 8.0
"""How much likelier it is in the line where the values depart first."""


def ordered(
    edits: Iterable[tuple[int, Edit]],
    outcomes: Sequence[Outcome],
    near: Sequence[int | None],
    concerned: Sequence[set[int]] = (),
    feeding: Sequence[set[int]] = (),
    bearing: Sequence[set[int]] = (),
) -> list[tuple[int, Edit]]:
    """The edits of each section, the likeliest first.

    `near` has for each section the line where the values of the kernel depart, if that is known, `concerned`
    the lines that alone can have made the mistake, if it is known to be one of addresses, masks or the grid,
    `bearing` those that bear on just the outputs that are wrong, if that can be told,
    and `feeding` those that make what goes into that line, if it did what it should with a wrong value.
    """
    astray = any(o.status in (Status.OUT_OF_BOUNDS, Status.RACE) for o in outcomes)
    unfit = set() if any(map(_not_finite, outcomes)) else {"guard"}
    if all(o.status is not Status.RACE for o in outcomes):
        unfit |= {"added"}
    everywhere = all(o.status is not Status.PASS for o in outcomes)
    tag = _shared(outcomes)
    weights = STRAY if astray else EVERYWHERE if everywhere else BY_TAG.get(tag, {})
    races = astray and all(o.status is not Status.OUT_OF_BOUNDS for o in outcomes)
    about = ABOUT_RACE if races else ABOUT_STRAY if astray else ABOUT_STRIDED if tag == "strided" else ABOUT
    masked, several = _only_causal(outcomes), tag != "strided" and _only_with_heads(outcomes)
    in_full = any(o.status is not Status.PASS and o.case.dtype.itemsize > 2 for o in outcomes)
    rest = OTHERWISE if weights and not astray and not everywhere else 1.0

    def odds(section: int, edit: Edit) -> float:
        known = ODDS[edit.kind]
        likely = known[min(edit.variant, len(known) - 1)] / (1 + max(0, edit.variant - len(known) + 1))
        likely *= weights.get(edit.kind, rest) * about.get(edit.about, 1.0)
        likely *= TWICE if edit.also and edit.kind != "pitch" else 1.0
        likely *= IN_BRANCH if masked and edit.causal and edit.kind not in UNBOUND else 1.0
        likely *= OF_HEADS if several and edit.heads else 1.0
        lines = {edit.line, *edit.also}
        bound = (
            astray and not races and concerned and edit.about == "mask" and bool(lines & concerned[section])
        )
        if concerned and not lines & concerned[section] and edit.kind != "line missing":
            likely *= ELSEWHERE
        elif concerned and edit.kind in ("name", "arguments", "exchanged"):
            likely *= ADDRESSED
        elif concerned and edit.kind in OF_VALUES:
            likely *= ELSEWHERE
        if bearing and bearing[section] and not lines & bearing[section]:
            likely *= OFF_THE_WAY
        if in_full and edit.kind in ("narrow", "dtype", "cast") and edit.old.endswith("dtype"):
            likely *= ELSEWHERE  # that is fp32 there already
        if astray and edit.kind == "comparison" and "=" in edit.new.replace(edit.old, ""):
            likely *= ELSEWHERE  # lets more through, not less
        if feeding and lines & feeding[section]:
            likely *= FEEDING * (FILLED if edit.kind == "filler" else 1.0)
        return likely * (NEAR if near[section] in lines or bound else 1.0)

    # another size makes a kernel right by luck, but for one that leaves out what another part counts with
    unfit |= set() if concerned else {"size"}
    return sorted((one for one in edits if one[1].kind not in unfit), key=lambda one: -odds(*one))


def _only_causal(outcomes: Sequence[Outcome]) -> bool:
    """True where only cases with a causal mask are wrong, and there are others."""
    wrong = [o.case.name for o in outcomes if o.status is not Status.PASS]
    right = [o.case.name for o in outcomes if o.status is Status.PASS]
    others = any("causal" not in name for name in right)
    return others and all("causal" in name and "not causal" not in name for name in wrong)


def _only_with_heads(outcomes: Sequence[Outcome]) -> bool:
    """True where only cases with several heads, or a batch, are wrong, and others are right."""

    def several(outcome: Outcome) -> bool:
        sizes = outcome.case.sizes
        return sizes.get("B", 1) * sizes.get("H", sizes.get("H_q", 1)) > 1

    wrong = [several(o) for o in outcomes if o.status is not Status.PASS]
    right = [several(o) for o in outcomes if o.status is Status.PASS]
    return all(wrong) and not all(right) and sum(right) < FEW * len(right)


def _not_finite(outcome: Outcome) -> bool:
    """True where an output holds NaN or an infinity, and should not."""
    return any(not c.ok and not c.problem and not math.isfinite(c.error) for c in outcome.outputs)


def _shared(outcomes: Sequence[Outcome]) -> str:
    """The tag that all wrong cases have, and few of the right ones; nothing if there is none."""
    wrong = [o.case.tags for o in outcomes if o.status is not Status.PASS]
    right = [o.case.tags for o in outcomes if o.status is Status.PASS]
    shares = {
        tag: sum(tag in tags for tags in right) / max(len(right), 1)
        for tag in BY_TAG
        if all(tag in tags for tags in wrong)
    }
    tag = min(shares, key=lambda tag: shares[tag], default="")
    return tag if shares.get(tag, 1.0) < FEW else ""
