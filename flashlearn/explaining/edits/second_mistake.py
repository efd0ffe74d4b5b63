"""Two mistakes in one answer, one of them a memory fault: the edit that repairs it, and the other mistake.

After an edit with which every access is in bounds, there are numbers to compare. If one declared mistake
explains everything that is wrong with them, or a second edit repairs it, the finding names both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.declared_mistakes import find_declared
from flashlearn.explaining.edits.address_slice import address_slice
from flashlearn.explaining.edits.avoidance import stays_inside_alone
from flashlearn.explaining.edits.compensation import compensates
from flashlearn.explaining.edits.generation import edits_of
from flashlearn.explaining.edits.naturalness import Naturalness, naturalness
from flashlearn.explaining.edits.ranking import Hints, ranked
from flashlearn.explaining.edits.search import edit_finding, lines_within
from flashlearn.explaining.edits.verification import NumericTrial
from flashlearn.explaining.findings.edits import EditAndMistake
from flashlearn.later import torch
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from flashlearn.running.answer import Answer
from flashlearn.running.answer_source import Section

FIRST_EDIT_WORK = 500.0
"""Work that the search for the first edit may take."""

MAX_COMPARISONS = 3
"""Edits after which the numbers of all cases are compared with the declared mistakes."""

MAX_TRIED = 3
"""The same where the cases that ran to the end show a declared mistake: most of these edits are dismissed by
the numbers of the cases that stopped."""

SECOND_EDIT_WORK = 450.0
"""Work that the search for a second edit may take; half of it after the second of the first edits."""


def find_edit_and_mistake(
    exercise: Exercise,
    answer: Answer,
    outcomes: Sequence[Outcome],
    line: int | None,
    accesses: Sequence[str],
    shown: str = "",
) -> Finding | None:
    """The finding that an edit keeps every access in bounds, and what is still wrong then.

    That is one declared mistake, or what a second edit of the same function repairs. `line` is the learner's
    line of the wrong access, `accesses` are the names of accesses that may be wrong. The cases that ran to
    the end may have `shown` a declared mistake: then those that stopped have to show it too.
    """
    sections = answer.sections()
    if not sections or exercise.kind is not Kind.KERNEL or exercise.explained.unsolved is not None:
        return None
    trial = NumericTrial(exercise, answer, outcomes)
    trial.left, compared = FIRST_EDIT_WORK, 0
    hints = Hints(lines_within(sections, line), address_slice(sections, accesses, line))
    edits = ((i, edit) for i, section in enumerate(sections) for edit in edits_of(section.text))
    observed = [o for o in outcomes if o.mode == "observed"]
    for i, edit in ranked(edits, outcomes, hints):
        if trial.left <= 0 or compared >= (MAX_TRIED if shown else MAX_COMPARISONS):
            return None
        text = edit.applied(sections[i].text)
        if not edit.kind.moves_access or stays_inside_alone(edit) or not trial.stopped():
            continue
        if naturalness(sections[i].text, edit) is not Naturalness.NATURAL:
            continue
        if all(trial.completes(i, text, outcome) for outcome in trial.stopped()):
            compared += 1
            if shown and not _show(exercise, trial.judged(i, text, trial.stopped()), shown):
                continue
            after = trial.judged(i, text, observed)
            if does_harm(observed, after):
                continue
            mistake = find_declared(exercise, after)
            explains_all = mistake is not None and mistake.mistake in exercise.explained.mistakes
            if not explains_all or mistake.partial or mistake.fits < mistake.of:
                section = replace(sections[i], text=text)
                work = SECOND_EDIT_WORK / compared
                mistake = None if shown else _second_edit(exercise, answer, after, i, section, work)
            if mistake is not None:
                first, count = edit_finding(trial.wrong, sections[i], edit), len(trial.wrong)
                return Finding(EditAndMistake((first, mistake)), first.place, count, count)
    return None


def does_harm(before: Sequence[Outcome], after: Sequence[Outcome]) -> bool:
    """Whether an edit is no repair, though every access is in bounds with it.

    A case that passed no longer does, numbers have become NaN or infinite, or nothing is computed any more:
    some output is empty in every case that stopped. An edit that hides all keys keeps every load inside, too.
    """
    pairs = list(zip(before, after, strict=False))
    for old, new in pairs:
        if old.status is Status.PASS and new.status is not Status.PASS:
            return True
        if any(map(is_finite, old.outputs)) and not all(
            is_finite(check) for own, check in zip(old.outputs, new.outputs, strict=False) if is_finite(own)
        ):
            return True
    stopped = [new for old, new in pairs if not old.outputs]
    return bool(stopped) and all(any(map(_is_empty, new.outputs)) for new in stopped)


def is_finite(check: OutputCheck) -> bool:
    """Whether an output holds neither NaN nor infinities."""
    got = check.got
    return isinstance(got, torch.Tensor) and bool(torch.isfinite(got).all())


def _is_empty(check: OutputCheck) -> bool:
    """Whether an output has nothing but NaN, infinities or zeros, and should have numbers."""
    if check.ok or check.problem or not isinstance(check.got, torch.Tensor):
        return False
    holds = torch.isfinite(check.got.double()) & (check.got != 0)
    return not bool(holds.any()) and bool((check.expected != 0).any())


def _show(exercise: Exercise, stopped: Sequence[Outcome], mistake: str) -> bool:
    """Whether these cases have the numbers that a declared mistake gives, or are right: it may not show."""
    found = find_declared(exercise, list(stopped), pairs=False)
    right = bool(stopped) and all(o.status is Status.PASS for o in stopped)
    return right or (found is not None and found.mistake == mistake)


def _second_edit(
    exercise: Exercise,
    answer: Answer,
    outcomes: Sequence[Outcome],
    number: int,
    section: Section,
    work: float,
) -> Finding | None:
    """The finding that a second edit, of the section after the first, repairs what is still wrong."""
    trial = NumericTrial(exercise, answer, outcomes)
    trial.left = work
    edits = ((number, edit) for edit in edits_of(section.text))
    hints = Hints(divergence=[None] * (number + 1))
    for _, edit in ranked(edits, outcomes, hints) if trial.wrong else ():
        if trial.left <= 0:
            return None
        if len(trial.wrong) == 1 and trial.by_chance(edit):
            continue
        if naturalness(section.text, edit) is not Naturalness.NATURAL or compensates(edit, trial.wrong):
            continue
        text = edit.applied(section.text)
        if trial.repaired(number, text) == trial.bad and trial.generalises(number, text, trial.bad):
            return edit_finding(trial.wrong, section, edit)
    return None
