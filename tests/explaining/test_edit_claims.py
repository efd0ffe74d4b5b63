"""What a report says of an edit is true in every case: so many pass, and nothing is spoilt."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

import flashlearn
from flashlearn.exercise import Kind
from flashlearn.explaining.findings.edits import OneEdit
from flashlearn.lessons import find
from flashlearn.outcome import Finding
from flashlearn.running.answer import answering
from tests.corpus import Entry, wrong_entries
from tests.explaining.edit_claims import claims, false_claims

KINDS = (Kind.KERNEL, Kind.TORCH)
ANSWERS = [e for e in wrong_entries() if find(e.exercise).kind in KINDS and find(e.exercise).lesson != "13"]
EDITED = [e for e in ANSWERS if "edit" in " ".join(e.names)]
QUICK = (
    "attention_backward",
    "bias_gradient",
    "folded_logsumexp",
    "linear_backward",
    "merge_partials_torch",
    "online_logsumexp",
    "row_sum",
    "scaled_add",
    "softmax_backward",
    "softmax_forward",
)
SAMPLE = [e for e in EDITED if e.exercise in QUICK][::2]
WHOLE = ANSWERS if os.environ.get("CORPUS") == "all" else [*EDITED[::4], *ANSWERS[::25]]


def false_and_counted(entries: list[Entry]) -> tuple[list[str], int]:
    """The false claims about edits in the reports of these answers, and how many edits there are."""
    false, count = [], 0
    for entry in dict.fromkeys(entries):
        exercise = find(entry.exercise)
        report = flashlearn.check(entry.exercise, entry.function, demo=True)
        if report.finding is not None:
            answer = answering(exercise, entry.function)
            count += len(list(claims(report.finding)))
            wrong = false_claims(exercise, answer, report.outcomes, report.finding)
            false += [f"{entry}: {what}" for what in wrong]
    return false, count


def test_what_is_said_of_an_edit_is_true_in_every_case():
    false, count = false_and_counted(SAMPLE)
    assert not false, "\n".join(false)
    assert count >= len(SAMPLE) / 3


@pytest.mark.slow
def test_what_is_said_of_any_edit_is_true_in_every_case():
    false, count = false_and_counted(WHOLE)
    print(f"{count} edits tried again")
    assert not false, "\n".join(false)
    assert count >= len(WHOLE) / 8


def test_a_false_claim_about_an_edit_would_be_seen():
    """The same report with another number of cases, and with a text that changes nothing."""
    entry = next(e for e in SAMPLE if e.names == (OneEdit.name,))
    exercise, answer = find(entry.exercise), answering(find(entry.exercise), entry.function)
    report = flashlearn.check(entry.exercise, entry.function, demo=True)
    edit = next(claims(report.finding)).edit
    section = next(one for one in answer.sections() if one.line == edit.tried[0])
    for false in (
        replace(edit, cases=edit.cases + 1),
        replace(edit, tried=(section.line, section.text)),
    ):
        assert false_claims(exercise, answer, report.outcomes, Finding(false))
