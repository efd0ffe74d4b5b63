"""What a report says of the cases that its explanation leaves open: counted, never more than was compared."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from flashlearn.exercise import Case, Exercise, HowJudged, Kind
from flashlearn.explaining import diagnose
from flashlearn.explaining.findings.case_status import OutOfBounds
from flashlearn.explaining.findings.declared import Declared, DeclaredFault
from flashlearn.explaining.findings.edits import OneEdit
from flashlearn.explaining.findings.first_divergence import FirstDivergence, WithItsLine
from flashlearn.explaining.findings.right_up_to import PaddingCounts
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.findings.some_programs import SomePrograms
from flashlearn.explaining.findings.two_mistakes import AfterRepair, InFp32
from flashlearn.explaining.findings.zero_sign_constants import Zero
from flashlearn.judging.cases import run
from flashlearn.observation import Place
from flashlearn.outcome import Finding, Misfit, Outcome, OutputCheck, Status
from flashlearn.report.data import CheckResult
from flashlearn.report.remainder import explained_and_left

CASE = Case("small", seed=1)
PLACE = Place("kernel.py", 7, "x = tl.load(x_ptr + i)", "f")


def two_outputs(x):
    """An exercise with two outputs, and no declared mistakes."""
    return x * 2 + 1, x.cumsum(0)


EXERCISE = Exercise(
    name="two_outputs",
    lesson="99",
    kind=Kind.TORCH,
    title="",
    signature="(x) -> a, b",
    outputs=("a", "b"),
    inputs=lambda case, generator: {"x": torch.randn(case.sizes["n"], 5, generator=generator)},
    cases=tuple(Case(f"{n} rows", {"n": n}, seed=n) for n in (20, 30, 40, 50)),
    judged=HowJudged(reference=two_outputs),
)


def outcome(status, got=None, place=None):
    expected = torch.zeros(4, dtype=torch.float64)
    checks = () if got is None else (OutputCheck("y", False, 1.0, 1e-3, got=got, expected=expected),)
    return Outcome(CASE, status, place=place, outputs=checks)


NUMBERS = outcome(Status.WRONG, torch.ones(4))
NAN = outcome(Status.WRONG, torch.full((4,), float("nan")))
PASSES = outcome(Status.PASS)
STOPS = outcome(Status.OUT_OF_BOUNDS, place=PLACE)
DECLARED = Finding(Declared("A factor is missing.", "", None, ("factor",)), fits=2, of=2)


def misfitting(alone=False):
    return Shape("y", Misfit("dtype", "float16", "float32"), "small", ("y",), alone=alone)


def said(outcomes, finding):
    return explained_and_left(CheckResult(EXERCISE, tuple(outcomes), finding))


def test_an_access_out_of_bounds_does_not_explain_the_cases_that_run_to_the_end():
    finding = Finding(OutOfBounds("Program 0 reads x[9].", CASE.name), PLACE)
    assert said([PASSES, STOPS], finding) == ""
    text = said([PASSES, STOPS, STOPS, NUMBERS], finding)
    assert text.startswith("2 failing cases stop there; 1 runs to the end but gives a wrong result")
    assert "check again" in text and "fits" not in text
    elsewhere = replace(STOPS, place=replace(PLACE, line=9))
    assert said([STOPS, elsewhere], finding).startswith("1 failing case stops there; 1 stops elsewhere")


def test_what_is_reviewed_once_every_case_passes_is_left_open():
    reviewed = replace(EXERCISE, judged=replace(EXERCISE.judged, review=lambda answer, earlier: None))
    text = explained_and_left(CheckResult(reviewed, (NUMBERS, NUMBERS), DECLARED))
    assert text.endswith("; what else the exercise demands is checked once every case passes")
    assert "demands" not in said([NUMBERS, NUMBERS], DECLARED)
    seen = Finding(Zero("y"), fits=2, of=2)
    assert explained_and_left(CheckResult(reviewed, (NUMBERS, NUMBERS), seen)).endswith("fixing this one")


def test_where_accesses_are_out_of_bounds_offsets_of_large_tensors_are_left_open():
    both = DeclaredFault("Its strides are those of s.", CASE.name, "", "", called=("strides",))
    finding = Finding(both, PLACE, 2, 2)
    large = replace(EXERCISE, judged=replace(EXERCISE.judged, real_sizes={"rows apart": 1 << 23}))
    outcomes = (PASSES, STOPS, NUMBERS)
    assert "large tensors" not in said(outcomes, finding)
    text = explained_and_left(CheckResult(large, outcomes, finding))
    assert text.endswith("; large tensors are tested only once every case passes")
    assert "large tensors" not in explained_and_left(CheckResult(large, (NUMBERS, NUMBERS), finding))


def test_of_what_comes_after_a_line_that_stops_every_case_nothing_is_claimed():
    finding = Finding(OutOfBounds("Program 0 writes y[9].", CASE.name), PLACE)
    race = outcome(Status.RACE, place=replace(PLACE, program=(1, 0, 0)))
    after = "they show nothing about what comes after: check again after fixing it"
    clause = f"both failing cases stop there, so {after}"
    assert said([PASSES, STOPS, race], finding) == clause
    declared = Finding(DeclaredFault("It stops.", CASE.name, "A wait is missing.", ""), PLACE, fits=2, of=2)
    assert said([STOPS, STOPS], declared) == clause
    assert said([STOPS, NUMBERS], declared) == "this explains both failing cases"


@pytest.mark.parametrize("kind", [Zero("y"), SomePrograms("y", "small", 4, (1,)), misfitting()])
def test_what_hides_other_mistakes_is_not_said_to_explain_every_case(kind):
    text = said([NUMBERS, NUMBERS], Finding(kind, fits=2, of=2))
    assert "explains" not in text and text.startswith("this was seen in both failing cases")
    assert "check again" in text


def test_a_dtype_with_which_alone_all_cases_pass_explains_them():
    assert said([NUMBERS] * 2, Finding(misfitting(alone=True), fits=2, of=2)).startswith("this explains both")


def test_a_place_that_was_traced_in_one_case_leaves_the_others_open():
    traced = Finding(PaddingCounts("x", 3, ("key",), "small", (0,), "y", 4), PLACE)
    assert "may be further mistakes" in said([NUMBERS, NUMBERS], traced)
    assert said([PASSES, NUMBERS], traced) == ""


def test_nan_alone_are_not_counted_as_an_explanation():
    assert said([NUMBERS, NUMBERS], DECLARED) == "this reproduces the numbers of both failing cases"
    assert said([NAN, NAN], DECLARED).startswith("the only evidence is NaN and infinities")
    mixed = said([NUMBERS, NAN], DECLARED)
    assert "in 1 of them the only evidence is NaN and infinities" in mixed and "check again" in mixed


def test_nan_beside_the_numbers_of_a_mistake_leaves_the_matter_open():
    both = outcome(Status.WRONG, torch.tensor([1.0, 1.0, float("nan"), 1.0]))
    said_of_one = said([NUMBERS, both], DECLARED)
    assert said_of_one.startswith("this reproduces the numbers of both failing cases; 1 of them holds NaN")
    assert "check again" in said_of_one
    assert "both hold NaN" in said([both, both], DECLARED)


def test_only_of_a_mistake_whose_correction_was_tried_it_is_said_that_it_explains_every_case():
    assert said([NUMBERS] * 2, replace(DECLARED, place=PLACE)) == "this explains both failing cases"
    departs = FirstDivergence("s", 7, False, "small", (0,), None, "S", "", None, (), (), None)
    shown = Finding(WithItsLine((DECLARED, Finding(departs, PLACE))), PLACE, fits=2, of=2)
    assert said([NUMBERS] * 2, shown) == "this reproduces the numbers of both failing cases"


def test_a_second_mistake_that_only_nan_shows_is_not_said_to_explain_every_case():
    first = Finding(OneEdit("name", 3, "x", "y", 1), PLACE, fits=1, of=1)
    second = Finding(replace(DECLARED.kind, only_nan=True), fits=1, of=1)
    text = said([NUMBERS, NAN], Finding(AfterRepair(1, 2, 2, (first, second)), PLACE, fits=2, of=2))
    assert "explains" not in text and "the only evidence for the second one is NaN" in text


def test_what_is_left_open_is_counted_among_all_failing_cases():
    partial = replace(DECLARED, fits=2, of=3, partial=True)
    assert said([NUMBERS] * 3, partial) == (
        "this reproduces the numbers of 2 of the 3 failing cases: check again after fixing it"
    )
    untested = said([NUMBERS] * 3, DECLARED)
    assert "both cases that it was tested on" in untested and "the other one" in untested


@pytest.mark.parametrize("rows", [20, 40])
def test_a_rule_that_holds_of_one_output_explains_only_cases_in_which_no_other_is_wrong(rows):
    def answer(x):
        a, b = two_outputs(x)
        noise = torch.linspace(0, 1, b.numel()).reshape(b.shape).sin().mul(97).frac()
        return a * 4, b + noise if len(x) > rows else b

    outcomes = run(EXERCISE, answer)
    finding = diagnose(EXERCISE, outcomes)
    open_to = sum(size > rows for size in (20, 30, 40, 50))
    assert finding.names[0] == "constant factor" and finding.partial
    assert (finding.fits, finding.of) == (4 - open_to, 4)
    assert f"fits {4 - open_to} of the 4 failing cases" in said(outcomes, finding)


def test_only_what_a_repair_made_pass_is_said_to_be_explained_where_other_cases_are_open():
    fault = DeclaredFault("It stops.", CASE.name, "A wait is missing.", "")
    assert said([STOPS, NUMBERS, NUMBERS], Finding(fault, PLACE, 1, 3, True)).startswith(
        "this was seen in 1 of"
    )
    edit = Finding(OneEdit("name", 3, "x", "y", 1), PLACE, fits=2, of=2)
    in_fp32 = Finding(InFp32((edit,)), PLACE, fits=2, of=3, partial=True)
    assert said([NUMBERS] * 3, in_fp32).startswith("this explains 2 of the 3 failing cases")
    by_numbers = Finding(InFp32((DECLARED,)), fits=2, of=3, partial=True)
    assert "reproduces the numbers of 2 of the 3" in said([NUMBERS] * 3, by_numbers)


def test_a_wrong_formula_is_not_taken_for_nan():
    wrong = Outcome(CASE, Status.WRONG, outputs=(OutputCheck("z", False, got=1, expected=2),))
    formula = replace(EXERCISE, kind=Kind.SYMBOLIC)
    clause = explained_and_left(CheckResult(formula, (wrong, wrong), DECLARED))
    assert clause == "this explains both failing cases"


def test_elements_that_no_program_writes_are_called_that():
    got, right = torch.tensor([1.0, float("nan")]), torch.tensor([1.0, 2.0])
    check = OutputCheck(
        "x", False, float("inf"), 1e-6, got=got, expected=right, writers=torch.tensor([0, -1])
    )
    case = replace(NAN, outputs=(check,))
    assert said([case, case], DECLARED).startswith("the only evidence is elements that were never written")
    stored = replace(NAN, outputs=(replace(check, writers=torch.tensor([0, 0])),))
    assert said([stored, stored], DECLARED).startswith("the only evidence is NaN and infinities")


def test_an_edit_with_which_all_cases_pass_is_not_repeated_as_an_explanation():
    edit = Finding(OneEdit("name", 3, "x", "y", 2), PLACE, fits=2, of=2)
    assert "both failing cases pass" in edit.sentence
    assert said([NUMBERS] * 2, edit) == ""
    with_review = replace(EXERCISE, judged=replace(EXERCISE.judged, review=lambda answer, earlier: ""))
    clause = explained_and_left(CheckResult(with_review, (NUMBERS, NUMBERS), edit))
    assert clause == "what else the exercise demands is checked once every case passes"
