"""Two mistakes in one answer, one of them a fault of memory: the edit that mends it, and the other.

An edit after which every access stays inside leaves numbers to compare. If one declared mistake explains all
that is wrong with them, or a second edit mends it, both are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.declared_mistakes import named
from flashlearn.explaining.edits import Edit, edits_of
from flashlearn.explaining.edits.address_slice import lines_concerned
from flashlearn.explaining.edits.name_families import POINTER
from flashlearn.explaining.edits.ranking import ordered
from flashlearn.explaining.edits.search import told
from flashlearn.explaining.edits.verification import Numbers
from flashlearn.outcome import Finding, Outcome, untyped
from flashlearn.running.answer import Answer
from flashlearn.running.answer_source import Section

WORK = 500.0
"""Work that the search for an edit may take."""

ASKED = 3
"""Edits after which numbers are compared with the declared mistakes."""

SECOND = 450.0
"""Work that the search for a second one may take."""

OF_ADDRESSES = frozenset(
    {
        "name", "strides", "comparison", "bound not moved", "bounds exchanged", "arguments", "unmasked",
        "factor too many", "not times its size", "alike", "line missing",
        "number as it is", "number of tiles", "another size", "another mask", "whole blocks", "pitch",
        "exchanged", "axis",
        "brackets", "added",
        "masked in part",
    }
)  # fmt: skip
"""Kinds of edits that move an access, or hide a part of it."""


def edit_and_mistake(
    exercise: Exercise,
    answer: Answer,
    outcomes: Sequence[Outcome],
    line: int | None,
    astray: Sequence[str],
) -> Finding | None:
    """The finding that an edit keeps every access inside, and what is wrong then.

    That is one declared mistake, or what a second edit of the same function mends.

    `line` is the learner's line where an access went astray, `astray` are the names of such accesses.
    """
    found = answer.sections()
    if not found or exercise.kind is not Kind.KERNEL or exercise.explained.unsolved is not None:
        return None
    trial = Numbers(exercise, answer, outcomes)
    trial.left, asked = WORK, 0
    near = [line and line - section.line + 1 for section in found]
    edits = ((i, edit) for i, section in enumerate(found) for edit in edits_of(section.text))
    seen = [o for o in outcomes if o.mode == "observed"]
    for i, edit in ordered(edits, outcomes, near, lines_concerned(found, astray, line)):
        if trial.left <= 0 or asked >= ASKED:
            return None
        text = edit.applied(found[i].text)
        if edit.kind not in OF_ADDRESSES or _another_tensor(edit) or not trial.ended():
            continue
        if all(trial.comes_through(i, text, outcome) for outcome in trial.ended()):
            asked += 1
            after = trial.judged(i, text, seen)
            mistake = named(exercise, after)
            alone = mistake is not None and mistake.mistake in exercise.explained.mistakes
            if not alone or mistake.partial or mistake.fits < mistake.of:
                mistake = _second_edit(exercise, answer, after, i, replace(found[i], text=text))
            if mistake is not None:
                return _both(told(trial.wrong, found[i], edit), mistake, len(trial.wrong))
    return None


def _another_tensor(edit: Edit) -> bool:
    """True if a pointer stands for another: what is then read is inside, and nothing that was meant."""
    return edit.kind == "name" and bool(POINTER.search(edit.old) or POINTER.search(edit.new))


def _second_edit(
    exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome], number: int, section: Section
) -> Finding | None:
    """The finding that a second edit, of the section after the first, makes all right that is wrong then."""
    trial = Numbers(exercise, answer, outcomes)
    trial.left = SECOND
    edits = ((number, edit) for edit in edits_of(section.text))
    for _, edit in ordered(edits, outcomes, [None] * (number + 1)) if trial.wrong else ():
        if trial.left <= 0:
            return None
        if len(trial.wrong) == 1 and edit.kind in trial.by_chance:
            continue
        if trial.mended(number, edit.applied(section.text)) == trial.bad:
            return told(trial.wrong, section, edit)
    return None


def _both(edit: Finding, mistake: Finding, count: int) -> Finding:
    return untyped("edit and mistake", {}, edit.place, count, count, mistake.names, (edit, mistake))
