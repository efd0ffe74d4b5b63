"""What is said of one of two mistakes is said of its cases and of its own line."""

from __future__ import annotations

from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.edits import AndOneEdit, OneEdit
from flashlearn.explaining.findings.nan_origin import NanOrigin
from flashlearn.explaining.findings.two_mistakes import AfterRepair, Besides, ByPrecision
from flashlearn.explaining.findings.zero_sign_constants import Zero
from flashlearn.observation import Place
from flashlearn.outcome import Finding

EDIT = Finding(OneEdit("name", 3, "x", "y", 2), Place("answer.py", 3, "a = x", "f"), 2, 2)
NAN = Finding(
    NanOrigin("inf minus inf", False, None, "small", "o", 1, 4, line=9),
    Place("answer.py", 9, "  p = s - m", "f"),
    1,
    1,
)


def test_the_line_of_a_nan_is_quoted_where_the_report_shows_another_one():
    with_edit = Finding(AndOneEdit((NAN, EDIT)), EDIT.place, 2, 2)
    assert "appears in line 9 (`p = s - m`):" in with_edit.sentence
    second = Finding(AfterRepair(2, 3, 2, (EDIT, NAN)), EDIT.place, 2, 3, partial=True)
    assert "appears in line 9" in second.sentence
    own = Finding(AndOneEdit((NAN, Finding(EDIT.kind, NAN.place))), NAN.place, 2, 2)
    assert "appears in line 9:" in own.sentence


def test_what_was_seen_in_a_copy_is_not_said_of_the_answer():
    seen = Finding(AfterRepair(2, 3, 3, (EDIT, Finding(Zero("ids"), fits=1, of=1))), EDIT.place, 3, 3)
    assert "(2) With (1) fixed, in the case that still fails: Every element of ids is 0." in seen.sentence
    declared = Finding(Declared("Alpha is missing.", "", None, ("alpha",)), fits=1, of=1)
    named = Finding(AfterRepair(2, 3, 3, (EDIT, declared)), EDIT.place, 3, 3)
    assert "(2) Alpha is missing." in named.sentence


def test_a_second_edit_speaks_of_the_cases_that_the_first_leaves():
    both = Finding(AfterRepair(2, 4, 4, (EDIT, EDIT)), EDIT.place, 4, 4)
    assert "2 of the 4 failing cases pass." in both.sentence
    assert both.sentence.endswith("both remaining cases pass.")


def test_each_precision_has_its_own_cases():
    sentence = ByPrecision((EDIT, EDIT)).wording().sentence
    assert "both failing fp32 cases pass" in sentence and "both failing half-precision cases pass" in sentence


def test_beside_a_fault_only_the_cases_that_complete_are_counted():
    sentence = Besides((NAN, EDIT)).wording().sentence
    assert "both failing cases that complete pass" in sentence
