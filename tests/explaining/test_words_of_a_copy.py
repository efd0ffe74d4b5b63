"""What is said of one of two mistakes is said of its cases and of its own line."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from flashlearn.exercise import Case
from flashlearn.explaining.edits.second_mistake import does_harm
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.edits import AndOneEdit, OneEdit
from flashlearn.explaining.findings.nan_origin import NanOrigin
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.precision import Precision
from flashlearn.explaining.findings.two_mistakes import AfterRepair, Besides, ByPrecision
from flashlearn.explaining.findings.zero_sign_constants import Zero
from flashlearn.explaining.second_look import _combined
from flashlearn.observation import Place
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status

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
    assert "both failing cases that run to the end pass" in sentence


NUMBERS, UNDEFINED, NOTHING = torch.ones(4), torch.full((4,), float("nan")), torch.zeros(4)
STOPS = Outcome(Case("small", {}), Status.OUT_OF_BOUNDS)


def outcome(got: torch.Tensor, status: Status = Status.WRONG, case: str = "small") -> Outcome:
    """A case with these numbers, where twos are right."""
    expected = torch.full((4,), 2.0, dtype=torch.float64)
    check = OutputCheck("o", status is Status.PASS, 1.0, 1e-3, got=got, expected=expected)
    return Outcome(Case(case, {}), status, outputs=(check,))


def test_an_edit_that_hides_everything_or_makes_nan_is_no_first_of_two_mistakes():
    assert not does_harm([STOPS], [outcome(NUMBERS)])
    assert does_harm([STOPS], [outcome(UNDEFINED)]) and does_harm([STOPS], [outcome(NOTHING)])
    assert not does_harm([STOPS, STOPS], [outcome(NUMBERS), outcome(NOTHING)])
    assert does_harm([STOPS, outcome(NUMBERS)], [outcome(NUMBERS), outcome(UNDEFINED)])
    assert not does_harm([STOPS, outcome(UNDEFINED)], [outcome(NUMBERS), outcome(UNDEFINED)])
    assert does_harm([STOPS, outcome(NUMBERS, Status.PASS)], [outcome(NUMBERS), outcome(NUMBERS)])


def copy_with(got: torch.Tensor) -> Finding:
    """What is said where the second case has these numbers, and NaN in a copy in which the first passes."""
    search = SimpleNamespace(
        outcomes=[outcome(NUMBERS, case="first"), outcome(NUMBERS), outcome(got, case="third")],
        exercise=SimpleNamespace(outputs=("o",)),
    )
    after = [outcome(NUMBERS, case="first"), outcome(NUMBERS, Status.PASS), outcome(UNDEFINED, case="third")]
    after[0] = outcome(got, case="first") if got is UNDEFINED else outcome(UNDEFINED, case="first")
    return _combined(search, EDIT, after, NAN)


def test_a_nan_that_the_answer_does_not_have_is_not_explained_from_a_copy():
    assert "NaN" in copy_with(UNDEFINED).sentence
    own = copy_with(NUMBERS)
    assert "NaN" not in own.sentence and own.sentence.endswith("The other 2 stay wrong.")


def test_the_case_beside_a_first_mistake_is_one_that_passes_with_its_repair():
    assert copy_with(NUMBERS).kind.case == copy_with(UNDEFINED).kind.case == "small"


def test_an_output_whose_error_is_of_another_case_has_that_case():
    parts = (
        Finding(NanOrigin("inf minus inf", False, None, "small", "o", 1, 4, line=9)),
        Finding(Precision("lse", 2e-4, 2e-6, None, case="large")),
    )
    assert "is allowed (case “large”)." in Outputs(parts).wording().sentence
    same = Outputs((parts[0], Finding(Precision("lse", 2e-4, 2e-6, None, case="small"))))
    assert "case “large”" not in same.wording().sentence


def test_another_name_with_which_some_cases_pass_does_not_prove_two_mistakes():
    declared = Finding(Declared("l is not rescaled.", "", None, ("l",)), fits=1, of=1)
    partly = Finding(AfterRepair(2, 3, 3, (EDIT, declared)), EDIT.place, 3, 3)
    assert partly.sentence.startswith("There may be two mistakes;")
    added = Finding(OneEdit("operator", 3, "a - b", "a + b", 2), EDIT.place, 2, 2)
    assert Finding(AfterRepair(2, 3, 3, (added, declared)), EDIT.place, 3, 3).sentence.startswith("There are")
