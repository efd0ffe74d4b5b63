"""Which edit to try first: how often such a one has been the right one, and what the wrong cases share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flashlearn.explaining.edits.source_text import Edit
from flashlearn.explaining.scope import kind_of
from flashlearn.outcome import Outcome, Status

ODDS: Mapping[str, Sequence[float]] = {
    "other": (30.0, 11.0),
    "rounded up": (23.0,),
    "narrow": (20.0,),
    "dtype": (16.0, 6.0),
    "comparison": (12.0, 2.0, 1.0),
    "filler": (13.0, 6.0),
    "function": (10.0,),
    "unmasked": (10.0,),
    "branch": (8.0,),
    "assignment": (8.0, 6.0),
    "statement left out": (6.6,),
    "sign": (8.0, 4.0),
    "start": (6.0,),
    "order": (5.3, 2.0),
    "constant": (5.1, 2.0, 1.4, 1.0),
    "not rescaled": (5.0,),
    "rounded down": (4.7,),
    "cast": (5.0, 2.2),
    "transposed": (3.0, 1.6),
    "operator": (2.5, 0.6),
    "dropped": (2.6, 2.0),
    "arguments": (4.0, 1.0),
    "factor too many": (2.0,),
    "brackets": (3.0, 2.0),
    "factor": (2.5, 1.4),
    "behind the loop": (2.5,),
    "inside the loop": (2.5,),
    "axis": (1.8,),
    "order of lines": (0.9,),
    "name": (1.2, 0.9, 0.6, 0.4, 0.2),
}
"""Of a thousand such edits of wrong answers, so many mended them: by kind, and then by variant."""

BY_TAG: Mapping[str, Mapping[str, float]] = {
    "half": {"cast": 20.0, "dtype": 30.0, "narrow": 30.0},
    "S_q ≠ S_k": {"name": 3.0, "comparison": 2.0, "operator": 2.0},
    "strided": {"strides": 10.0, "address": 4.0},
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

OTHERWISE = 0.5
"""And how much less likely all others are there."""

ADDRESS = 0.4
"""How much less likely an edit is that concerns an address, where nothing went out of bounds."""

NEAR = 8.0
"""How much likelier it is in the line where the values depart first."""


def ordered(
    edits: Iterable[tuple[int, Edit]], outcomes: Sequence[Outcome], near: Sequence[int | None]
) -> list[tuple[int, Edit]]:
    """The edits of each section, the likeliest first.

    `near` has for each section the line where the values of the kernel depart, if that is known.
    """
    wrong = {o.case.name for o in outcomes if o.status is not Status.PASS}
    shared = kind_of(wrong, outcomes)
    weights = BY_TAG.get(shared.tag, {}) if shared is not None and shared.kind == "only with" else {}
    rest = OTHERWISE if weights else 1.0
    if len(wrong) == len(outcomes):
        weights = EVERYWHERE

    astray = any(o.status is Status.OUT_OF_BOUNDS for o in outcomes)

    def odds(section: int, edit: Edit) -> float:
        known = ODDS[edit.kind]
        likely = known[min(edit.variant, len(known) - 1)] / (1 + max(0, edit.variant - len(known) + 1))
        likely *= weights.get(edit.kind, weights.get(edit.about, rest))
        if edit.about and not astray and edit.about not in weights:
            likely *= ADDRESS
        return likely * (NEAR if edit.line == near[section] else 1.0)

    return sorted(edits, key=lambda one: -odds(*one))
