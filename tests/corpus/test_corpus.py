"""The corpus of answers: wrong ones are rejected, right ones pass, labels name what exists."""

from __future__ import annotations

import os

import pytest

import flashlearn
from flashlearn.exercise import Kind
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import all_exercises, find
from flashlearn.outcome import Status
from tests.corpus import Entry, measure, right_entries, sample, section_of, test_two_processes, wrong_entries
from tests.corpus.checked import TOGETHER, checked
from tests.corpus.measure import CheckResult

WRONG, RIGHT = wrong_entries(), right_entries()

CHECK_ALL = os.environ.get("CORPUS") == "all"
"""With CORPUS=all every entry is checked here, otherwise a part, to keep `make test` short. `make bench`
measures all of them, with their diagnosis.
"""
COVERED_ELSEWHERE = {e for e in (*WRONG, *RIGHT) if find(e.exercise).lesson == test_two_processes.LESSON}
"""Answers that test_two_processes.py judges in full, in this process and in a child process."""
REJECTED = WRONG if CHECK_ALL else [e for e in sample(WRONG, 10) if e not in COVERED_ELSEWHERE]
PASSING = RIGHT if CHECK_ALL else [e for e in sample(RIGHT, 12) if e not in COVERED_ELSEWHERE]
NAMED = sample(WRONG, 9 if CHECK_ALL else 48)


@pytest.mark.parametrize("entry", REJECTED, ids=str)
def test_a_wrong_answer_is_rejected(entry: Entry):
    exercise = find(entry.exercise)
    if exercise.kind is not Kind.SYMBOLIC:
        for case in exercise.cases:  # the first wrong case will do, and needs no diagnosis
            if not case.gpu and run_observed(exercise, entry.function, case).status is not Status.PASS:
                return
    assert not flashlearn.check(entry.exercise, entry.function, demo=True).passed, entry.says


@TOGETHER
@pytest.mark.parametrize("entry", NAMED, ids=str)
def test_a_wrong_answer_gets_no_wrong_name(entry: Entry):
    measurement = measure.Measurement(entry, measure.result_of(checked(entry)))
    assert measurement.verdict not in (measure.WRONGLY, measure.ACCEPTED), f"{entry.names}: {measurement}"


@pytest.mark.parametrize("entry", PASSING, ids=str)
def test_a_right_answer_passes(entry: Entry):
    report = flashlearn.check(entry.exercise, entry.function, demo=True)
    assert report.passed, f"{entry.says}\n{report}"


def test_a_label_names_a_declared_mistake_or_a_generic_one():
    assert not {str(entry): names for entry in WRONG if (names := list(measure.undeclared(entry)))}


def test_every_entry_has_a_title_of_its_own():
    for entries in (WRONG, RIGHT):
        titles = [str(entry) for entry in entries]
        assert sorted(set(titles)) == sorted(titles)


def test_no_wrong_answer_is_a_declared_mistake_s_own_kernel():
    for exercise in all_exercises().values():
        launchers = [m.launcher for m in exercise.explained.mistakes.values() if m.launcher is not None]
        declared = {section_of(each)[0].strip() for each in launchers if hasattr(each, "__globals__")}
        for entry in WRONG:
            assert entry.exercise != exercise.name or entry.text.strip() not in declared, entry


def result(*names: str, passed: bool = False, partial: bool = False) -> CheckResult:
    return CheckResult(passed, names, "", seconds=1.0, processor_seconds=1.0, partial=partial)


@pytest.mark.parametrize(
    ("names", "found", "verdict"),
    [
        (("A",), ("A",), "named correctly"),
        (("A",), ("B",), "named wrongly"),
        (("A + B",), ("B", "A"), "named correctly"),
        (("A", "B"), ("A", "B"), "named correctly"),
        (("A", "B"), ("A", "C"), "named wrongly"),
        (("A + B", "C"), ("B", "C"), "named correctly"),
        (("A + B", "C"), ("A", "B", "C"), "named correctly"),
        (("A + B",), ("A",), "named wrongly"),
        (("A",), (), "unnamed"),
        (("A",), ("one edit",), "named in part"),
        (("A", "one edit"), ("one edit",), "named correctly"),
        (("A",), ("some rows",), "unnamed"),
        (("A",), ("some rows", "ragged tail"), "unnamed"),
        (("some rows",), ("some rows",), "named correctly"),
    ],
)
def test_a_finding_is_compared_with_the_label_by_its_parts(names, found, verdict):
    assert measure.verdict(Entry("e", "t", "says", names), result(*found)) == verdict


def test_one_of_two_mistakes_counts_in_part_only_if_it_says_that_there_is_more():
    entry = Entry("e", "t", "says", ("A + B",))
    assert measure.verdict(entry, result("A", partial=True)) == "named in part"
    assert measure.verdict(entry, result("A")) == "named wrongly"
    assert measure.verdict(entry, result("C", partial=True)) == "named wrongly"
    assert measure.verdict(entry, result(passed=True)) == "accepted"
