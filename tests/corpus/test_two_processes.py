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
from flashlearn.running.remote_answer import Apart, Loader, Nursery
from tests.corpus import right_entries, wrong_entries

ROOT = Path(__file__).parents[2]
LESSON = "01"
"""It has symbolic answers, answers in torch and kernels, and is quick."""
IN_GLUON = "tma_copy"
"""An exercise whose faults are of time, which say of themselves what others do not."""

ENTRIES = (*wrong_entries(), *right_entries())
NUMBERS = [
    number
    for number, entry in enumerate(ENTRIES)
    if find(entry.exercise).lesson == LESSON or entry.exercise == IN_GLUON
]
DURATION = re.compile(r"[\d.e-]+ (s|ms|µs)\b")

pytestmark = pytest.mark.xdist_group("two processes")  # one process makes what all of its tests share


@pytest.fixture(scope="module")
def nursery():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    warm = ("flashlearn.lessons:all_exercises", "tests.corpus:wrong_entries")
    with Nursery(warm, environment) as nursery:
        yield nursery


@pytest.fixture(autouse=True)
def all_the_time_in_the_world(monkeypatch):
    """What a check leaves out for lack of time depends on the machine, and on the process.

    Edits are counted, not timed; fewer of them do.
    """
    monkeypatch.setattr("flashlearn.judging.cases.ACCESS_BUDGET", 1e6)
    monkeypatch.setattr(importlib.import_module("flashlearn.explaining.declared_mistakes"), "PATIENCE", 60.0)
    monkeypatch.setattr("flashlearn.explaining.divergence.BUDGET", 60.0)
    monkeypatch.setattr(
        "flashlearn.explaining.edits.verification.SEARCH_WORK", 80
    )  # enough to see that it is the same


def said(report: Report) -> tuple:
    """All of a report but how long things took."""
    kept = [
        (o.case.name, o.status, DURATION.sub("…", o.message), o.detail, o.place, o.fault)
        for o in report.outcomes
    ]
    return DURATION.sub("…", str(report)), kept


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: str(ENTRIES[number]))
def test_an_answer_gets_the_same_report_in_a_child_process(number: int, nursery: Nursery):
    entry = ENTRIES[number]
    exercise = find(entry.exercise)
    loader = Loader("tests.corpus:function_of", (number,), entry.exercise, "flashlearn.lessons:find")
    with Apart(loader, nursery) as child:
        apart = grade(exercise, child, answers.earlier)
    here = grade(exercise, entry.function, answers.earlier)
    assert said(apart) == said(here)
    assert here.passed == (not entry.names), entry.says
