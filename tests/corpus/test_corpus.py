"""The corpus of answers: wrong ones are rejected, right ones pass, labels name what exists."""

from __future__ import annotations

import inspect
import os

import pytest

import flashlearn
from flashlearn.exercise import Kind
from flashlearn.judging.cases import run_observed
from flashlearn.lessons import find
from flashlearn.outcome import Status
from tests.corpus import Entry, edited, measure, right_entries, test_two_processes, wrong_entries
from tests.corpus.measure import Said

WRONG, RIGHT = wrong_entries(), right_entries()

WHOLE = os.environ.get("CORPUS") == "all"
"""With CORPUS=all every entry is checked here; else a part, so that `make test` stays short. `make bench`
measures all of them, with their diagnosis.
"""
TWICE = {e for e in (*WRONG, *RIGHT) if find(e.exercise).lesson == test_two_processes.LESSON}
"""Judged in full there, here and in a child process."""
REJECTED = WRONG if WHOLE else [e for e in WRONG if e not in TWICE][::6]
PASSING = RIGHT if WHOLE else [e for e in RIGHT if e not in TWICE][::6]
NAMED = WRONG[::9] if WHOLE else WRONG[::48]


@pytest.mark.parametrize("entry", REJECTED, ids=str)
def test_a_wrong_answer_is_rejected(entry: Entry):
    exercise = find(entry.exercise)
    if exercise.kind is not Kind.SYMBOLIC:
        for case in exercise.cases:  # the first wrong case will do, and needs no diagnosis
            if not case.gpu and run_observed(exercise, entry.function, case).status is not Status.PASS:
                return
    assert not flashlearn.check(entry.exercise, entry.function, demo=True).passed, entry.says


@pytest.mark.parametrize("entry", NAMED, ids=str)
def test_a_wrong_answer_gets_no_wrong_name(entry: Entry):
    (result,) = measure.measured([entry])
    assert result.verdict not in (measure.WRONGLY, measure.ACCEPTED), f"{entry.names}: {result.said}"


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
    for entry in WRONG:
        declared = {m.launcher for m in find(entry.exercise).explained.mistakes.values()}
        assert entry.function not in declared, entry


def test_an_edit_that_does_not_occur_exactly_once_is_refused():
    with pytest.raises(ValueError, match="2 times"):
        edited("def f(x):\n    return f(x)\n", ("f(x)", "x"))


def test_an_edited_launcher_keeps_the_lines_of_its_text():
    function = edited("def f(x):\n    return x\n", ("return x", "return -x"))
    assert function(2) == -2
    assert "return -x" in inspect.getsource(function)


def _said(*names: str, passed: bool = False, partial: bool = False) -> Said:
    return Said(passed, names, "", seconds=1.0, processor_seconds=1.0, partial=partial)


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
    assert measure.verdict(Entry("e", "t", print, "says", names), _said(*found)) == verdict


def test_one_of_two_mistakes_counts_in_part_only_if_it_says_that_there_is_more():
    entry = Entry("e", "t", print, "says", ("A + B",))
    assert measure.verdict(entry, _said("A", partial=True)) == "named in part"
    assert measure.verdict(entry, _said("A")) == "named wrongly"
    assert measure.verdict(entry, _said("C", partial=True)) == "named wrongly"
    assert measure.verdict(entry, _said(passed=True)) == "accepted"
