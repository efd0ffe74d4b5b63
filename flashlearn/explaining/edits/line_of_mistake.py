"""The line of a mistake that is known already: one natural edit of it makes everything right."""

from __future__ import annotations

from collections.abc import Sequence

from flashlearn.exercise import Exercise, Kind
from flashlearn.explaining.edits.disabled_bounds import makes_up_for_all
from flashlearn.explaining.edits.naturalness import Naturalness, naturalness
from flashlearn.explaining.edits.output_slice import suspect_lines
from flashlearn.explaining.edits.ranking import Hints, ranked
from flashlearn.explaining.edits.search import edit_finding, edits_that_may_be_meant
from flashlearn.explaining.edits.trials import trial_of
from flashlearn.outcome import Outcome, Place
from flashlearn.running.answer import Answer

LINE_WORK = {Kind.KERNEL: 400.0, Kind.TORCH: 150.0, Kind.SYMBOLIC: 120.0}
"""Work that the search may take, about 50 runs of a kernel: a name without a line is worth having too."""


def find_line(exercise: Exercise, answer: Answer, outcomes: Sequence[Outcome]) -> Place | None:
    """The place of the first natural edit with which every wrong case passes, and the others still do."""
    unsolved, sections = exercise.explained.unsolved, answer.sections()
    if not sections or (unsolved is not None and unsolved(answer)):
        return None
    trial = trial_of(exercise, answer, outcomes, forms=True)
    trial.left = min(trial.left, LINE_WORK[exercise.kind])
    edits = edits_that_may_be_meant(exercise, sections, trial.wrong)
    suspects = suspect_lines(sections, exercise.outputs, outcomes)
    hints = Hints(divergence=[None] * len(sections), suspects=suspects)
    for i, edit in ranked(edits, outcomes, hints) if trial.wrong else ():
        if trial.left <= 0:
            return None
        if len(trial.wrong) == 1 and trial.by_chance(edit):
            continue
        if naturalness(sections[i].text, edit) is not Naturalness.NATURAL:
            continue
        text = edit.applied(sections[i].text)
        if trial.repaired(i, text) != trial.bad or trial.superfluous:
            continue
        if makes_up_for_all(trial, i, sections[i].text, edit):
            continue
        if trial.generalises(i, text, trial.bad):
            return edit_finding(trial.wrong, sections[i], edit).place
    return None
