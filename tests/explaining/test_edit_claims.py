"""What a report says of an edit is true in every case: so many pass, and nothing is spoilt."""

from __future__ import annotations

import functools
import os
from dataclasses import replace

import pytest

from flashlearn.exercise import Kind
from flashlearn.explaining.findings.edits import OneEdit
from flashlearn.lessons import find
from flashlearn.outcome import Finding
from flashlearn.running.answer import answering
from tests.corpus import Entry, sample, wrong_entries
from tests.corpus.checked import TOGETHER, checked
from tests.corpus.test_corpus import NAMED
from tests.explaining.edit_claims import claims, false_claims

pytestmark = TOGETHER

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
QUICKLY = sample([e for e in EDITED if e.exercise in QUICK], 2)
OTHERS = [*sample(EDITED, 6), *(e for e in NAMED if e in ANSWERS)]  # some that are checked anyway
SAMPLE = ANSWERS if os.environ.get("CORPUS") == "all" else OTHERS


@functools.cache
def edits_in(entry: Entry) -> int:
    """How many edits are in the report of an answer."""
    finding = checked(entry).finding
    return 0 if finding is None else len(list(claims(finding)))


def assert_true(entry: Entry) -> None:
    """Nothing that the report of an answer says of an edit is false."""
    exercise, report = find(entry.exercise), checked(entry)
    if edits_in(entry):
        answer = answering(exercise, entry.function)
        false = false_claims(exercise, answer, report.outcomes, report.finding)
        assert not false, "\n".join(false)


@pytest.mark.parametrize("entry", QUICKLY, ids=str)
def test_what_is_said_of_an_edit_is_true_in_every_case(entry):
    assert_true(entry)


@pytest.mark.slow
@pytest.mark.parametrize("entry", [e for e in dict.fromkeys(SAMPLE) if e not in QUICKLY], ids=str)
def test_what_is_said_of_any_edit_is_true_in_every_case(entry):
    assert_true(entry)


@pytest.mark.slow
@pytest.mark.timeout(1200)  # alone it checks all answers; after the tests above it knows their reports
def test_enough_reports_have_edits_for_this_to_mean_something():
    assert sum(map(edits_in, QUICKLY)) >= len(QUICKLY) / 3
    assert sum(map(edits_in, dict.fromkeys(SAMPLE))) >= len(SAMPLE) / 8


def test_a_false_claim_about_an_edit_would_be_seen():
    """The same report with another number of cases, and with a text that changes nothing."""
    entry = next(e for e in QUICKLY if e.names == (OneEdit.name,))
    exercise, answer = find(entry.exercise), answering(find(entry.exercise), entry.function)
    report = checked(entry)
    edit = next(claims(report.finding)).edit
    section = next(one for one in answer.sections() if one.line == edit.tried[0])
    for false in (
        replace(edit, cases=edit.cases + 1),
        replace(edit, tried=(section.line, section.text)),
    ):
        assert false_claims(exercise, answer, report.outcomes, Finding(false))
