"""A whole lesson's answers get the same reports in this process and in a child process."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path

import pytest

from flashlearn.checking import grade
from flashlearn.course import answers
from flashlearn.lessons import find
from flashlearn.report import Report
from flashlearn.running.remote_answer import AnswerForkServer, Loader, RemoteAnswer
from tests.corpus import Entry, right_entries, wrong_entries

ROOT = Path(__file__).parents[2]
LESSON = "01"
"""It has symbolic answers, answers in torch and kernels, and is quick."""
IN_GLUON = "tma_copy"
"""An exercise with synchronisation faults, which describe themselves."""

ENTRIES = [
    entry
    for entry in (*wrong_entries(), *right_entries())
    if find(entry.exercise).lesson == LESSON or entry.exercise == IN_GLUON
]
DURATION = re.compile(r"[\d.e-]+ (s|ms|µs)\b")

pytestmark = pytest.mark.xdist_group("two processes")  # its tests share one fork server


@pytest.fixture(scope="module")
def fork_server():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    warm = ("flashlearn.lessons:all_exercises", "tests.corpus:wrong_entries")
    with AnswerForkServer(warm, environment) as fork_server:
        yield fork_server


@pytest.fixture(autouse=True)
def generous_time_limits(monkeypatch):
    """Without them, what a check skips for lack of time would depend on the machine and on the process.

    The number of edits is limited instead.
    """
    monkeypatch.setattr("flashlearn.judging.cases.ACCESS_BUDGET", 1e6)
    monkeypatch.setattr(importlib.import_module("flashlearn.explaining.declared_mistakes"), "PAIR_WORK", 60.0)
    monkeypatch.setattr(
        "flashlearn.explaining.edits.verification.SEARCH_WORK", 80
    )  # enough to see that it is the same


def without_durations(report: Report) -> tuple:
    """A report and its outcomes, with all durations masked."""
    outcomes = [
        (o.case.name, o.status, DURATION.sub("…", o.message), o.detail, o.place, o.fault)
        for o in report.outcomes
    ]
    return DURATION.sub("…", str(report)), outcomes


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_an_answer_gets_the_same_report_in_a_child_process(entry: Entry, fork_server: AnswerForkServer):
    exercise = find(entry.exercise)
    loader = Loader("tests.corpus:function_of", (entry.key,), entry.exercise, "flashlearn.lessons:find")
    with RemoteAnswer(loader, fork_server) as child:
        apart = grade(exercise, child, answers.earlier_answer)
    here = grade(exercise, entry.function, answers.earlier_answer)
    assert without_durations(apart) == without_durations(here)
    assert here.passed == (not entry.names), entry.says
