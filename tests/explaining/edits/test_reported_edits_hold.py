"""What a report says of an edit can be done by hand: with it all failing cases pass, and a fresh one too."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.search import find_edit
from flashlearn.explaining.findings.edits import OneEdit
from flashlearn.judging.cases import run, run_observed
from flashlearn.judging.fresh_cases import fresh_cases
from flashlearn.lessons import find
from flashlearn.outcome import Status
from flashlearn.running.answer import Here
from tests.corpus import function_from_text, wrong_entries

SAMPLE = ("row_sum", "scaled_add", "softmax_forward", "bias_gradient")
PER_EXERCISE = 4


def _sample():
    """Some labelled answers of exercises that take little time."""
    for exercise in SAMPLE:
        entries = [entry for entry in wrong_entries() if entry.exercise == exercise]
        yield from entries[:: max(1, len(entries) // PER_EXERCISE)]


def _edited(answer: Here, kind: OneEdit):
    """The texts of the answer's sections, with the reported edit applied to the one that holds its line."""
    parts = []
    for section in answer.sections():
        at = kind.line - section.line + 1
        found = [
            edit
            for edit in edits_of(section.text)
            if (edit.kind.name, edit.line, edit.old, edit.new) == (kind.edit, at, kind.old, kind.new)
            and tuple(section.line + one - 1 for one in edit.also) == kind.also
        ]
        parts.append([edit.applied(section.text) for edit in found] or [section.text])
    return parts


@pytest.mark.parametrize("entry", list(_sample()), ids=lambda entry: f"{entry.exercise}: {entry.title}")
def test_a_reported_edit_makes_every_failing_case_and_a_fresh_one_pass(entry):
    exercise = find(entry.exercise)
    answer = Here(entry.function, exercise)
    outcomes = run(exercise, answer)
    finding = find_edit(exercise, answer, outcomes)
    if finding is None or not isinstance(finding.kind, OneEdit):
        return
    texts = _edited(answer, finding.kind)
    assert any(one != [s.text] for one, s in zip(texts, answer.sections(), strict=True))
    context = dict(entry.function.__globals__)
    fixed = function_from_text("\n\n".join(one[0] for one in texts), entry.function.__name__, context=context)
    after = run(exercise, Here(fixed, exercise))
    assert [o.case.name for o in after if o.status is not Status.PASS] == []
    fresh = fresh_cases(exercise, [next(o.case for o in outcomes if o.status is not Status.PASS)])
    assert all(run_observed(exercise, fixed, case).status is Status.PASS for case in fresh)
