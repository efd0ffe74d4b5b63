"""Which line makes a Gluon kernel wait for ever, or too briefly: found by running it with edits.

The line where a partition waits is seldom the wrong one. So the counts, parities, bytes and numbers from
which waits follow are edited, one at a time, and the kernel is run with each.
"""

from __future__ import annotations

from flashlearn.explaining.declared_mistakes import find_declared
from flashlearn.explaining.edits.edit import Edit, SourceText
from flashlearn.explaining.edits.search import edit_finding
from flashlearn.explaining.edits.synchronisation import synchronisation_edits
from flashlearn.explaining.edits.verification import NumericTrial, is_of_time
from flashlearn.explaining.faults import from_status
from flashlearn.explaining.findings.case_status import Crashed
from flashlearn.explaining.findings.declared import DeclaredFault
from flashlearn.explaining.findings.edits import AndOneEdit, DeclaredInLine, EditAndMistake
from flashlearn.explaining.findings.two_mistakes import AfterRepair
from flashlearn.explaining.repaired import Repaired
from flashlearn.explaining.stage import Search
from flashlearn.judging.cases import run_observed
from flashlearn.outcome import Finding, Status

WORK = 250.0
"""Work that the search may take."""

MOST_SECOND_LOOKS = 1
"""Edits with which some cases pass whose whole effect is looked at."""


def edit_for_waits(search: Search) -> Finding | None:
    """The edit with which every case passes; or some do, and what is wrong with the others then."""
    failing = [o for o in search.outcomes if o.status is not Status.PASS]
    declared = search.finding is not None and isinstance(search.finding.kind, DeclaredFault)
    if not any(map(is_of_time, failing)) or not (declared or isinstance(search.finding.kind, Crashed)):
        return None
    trial = NumericTrial(search.exercise, search.answer, search.outcomes, waits=True)
    sections = search.answer.sections()
    trial.left = WORK
    if not trial.wrong or (declared and search.finding.partial):
        return None
    some: list[tuple[int, int, Edit]] = []
    for i, section in enumerate(sections):
        for edit in synchronisation_edits(SourceText(section.text)):
            if trial.left <= 0:
                break
            text = edit.applied(section.text)
            if text == section.text:
                continue
            if trial.repaired(i, text) == trial.bad and trial.generalises(i, text, trial.bad):
                found = edit_finding(trial.wrong, section, edit)
                return _with_edit(search.finding, found)
            if trial.reached or trial.completes(i, text, trial.wrong[0]):
                some.append((trial.reached, i, edit))
    some.sort(key=lambda one: -one[0])
    looks = (_after(search, i, edit, not declared) for _, i, edit in some[:MOST_SECOND_LOOKS])
    return next(filter(None, looks), None)


def _with_edit(finding: Finding, edit: Finding) -> Finding:
    """The fault, with what the exercise says of it, and the line where an edit takes it back."""
    kind = DeclaredInLine if isinstance(finding.kind, DeclaredFault) else AndOneEdit
    return Finding(kind((finding, edit)), edit.place, edit.fits, edit.of)


def _after(search: Search, number: int, edit: Edit, faults: bool) -> Finding | None:
    """What an edit does that is not all: the cases that pass with it, and what is wrong with the others.

    That is a declared mistake that gives their numbers, or with `faults` a declared kernel that fails so too.
    """
    section = search.answer.sections()[number]
    text = edit.applied(section.text)
    if text.count("\n") != section.text.count("\n"):
        return None
    repaired, before = Repaired(search.answer, ((number, text),)), search.outcomes
    after = [o if o.mode != "observed" else run_observed(search.exercise, repaired, o.case) for o in before]
    pairs = list(zip(before, after, strict=True))
    if any(old.status is Status.PASS and new.status is not Status.PASS for old, new in pairs):
        return None
    failing = [old for old in before if old.status is not Status.PASS]
    passing = [new for old, new in pairs if old.status is not Status.PASS and new.status is Status.PASS]
    left = [new for new in after if new.status is not Status.PASS]
    first = edit_finding(failing, section, edit)
    if all(o.status is Status.WRONG for o in left):
        again = find_declared(search.exercise, after, pairs=False)
        if again is None or again.partial or again.fits < again.of:
            return None
        if not passing:
            return Finding(EditAndMistake((first, again)), first.place, len(failing), len(failing))
    else:
        again = from_status(search.exercise, after)
        if not faults or not passing or not isinstance(again.kind, DeclaredFault) or again.partial:
            return None
    kind = AfterRepair(len(passing), len(failing), len(failing), (first, again))
    return Finding(kind, first.place, len(failing), len(failing))
