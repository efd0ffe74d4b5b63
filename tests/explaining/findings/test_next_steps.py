"""Next steps ask: what they recommend without evidence may be in the line already, or be right."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace

import pytest
import torch

from flashlearn.explaining.edits.edit import EDIT_KINDS
from flashlearn.explaining.edits.questions import question_of
from flashlearn.explaining.edits.quotation import without_spare_parentheses
from flashlearn.explaining.findings import KINDS, case_status, kept_part, nan_origin, not_finite
from flashlearn.explaining.findings.declared import Declared
from flashlearn.explaining.findings.edits import OneEdit
from flashlearn.explaining.findings.first_divergence import FirstDivergence
from flashlearn.explaining.findings.nan_origin import NanOrigin
from flashlearn.explaining.findings.precision import RoundedInside
from flashlearn.explaining.findings.review import Review
from flashlearn.explaining.findings.rule import Clue
from flashlearn.explaining.findings.some_programs import SomePrograms
from flashlearn.explaining.findings.some_rows import SomeRows
from flashlearn.explaining.findings.symbolic import NotCompared
from flashlearn.explaining.findings.two_mistakes import AGAIN, AfterRepair, as_part
from flashlearn.explaining.findings.weight_leaks import DiagonalTilesUnmasked
from flashlearn.explaining.findings.zero_sign_constants import ConstantFactor
from flashlearn.interpreter.bounds import _lanes
from flashlearn.interpreter.gluon import fault_kinds
from flashlearn.judging import real_sizes
from flashlearn.lessons import find
from flashlearn.lessons.lesson_09_into_pytorch.bad_arguments import _answered, misfits
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status

ADVICE = re.compile(r"(?:^|[.:?] )(?:Convert|Keep|Compute|Allocate|Guard|Mask|Subtract|Multiply|Put|Wait) ")
"""A recommendation at the beginning of a sentence."""

ROUNDING_LINES = (
    "product = (o * do).to(tl.float32)",
    "s = tl.dot(q, k).to(q.dtype)",
    "p = tl.exp(s.to(tl.float32) - m.to(tl.float32)[:, None]).to(v.dtype)",
    "x = tl.load(x_ptr + j, mask=j < N).to(tl.float32) * scale",
    "acc = acc.to(tl.float32) + tl.dot(p.to(v.dtype), v)",
)


@pytest.mark.parametrize("text", ROUNDING_LINES)
def test_a_line_that_rounds_is_asked_about_and_no_conversion_is_recommended(text):
    step = RoundedInside((), (7,), 3, 0, sum_name="", text=text).wording().next_step
    assert "?" in step and not ADVICE.search(step)


@pytest.mark.parametrize(("half", "full"), [((), 0), (("fp16",), 2)])
def test_roundings_in_unknown_lines_are_asked_about(half, full):
    step = RoundedInside(half, (), 3, full).wording().next_step
    assert "?" in step and not ADVICE.search(step)


def test_operands_of_a_product_are_spoken_of_only_where_there_is_one():
    facts = (("fp16",), (7,), 3, 2)
    assert "tl.dot" in RoundedInside(*facts).wording().next_step
    assert "tl.dot" not in RoundedInside(*facts, products=False).wording().next_step


@pytest.mark.parametrize("kind", nan_origin.OPERATIONS)
def test_the_step_after_a_nan_asks_and_recommends_no_guard_that_may_be_there(kind):
    for step in (nan_origin.OPERATIONS[kind][1], nan_origin.ZEROS["unknown"]):
        assert "?" in step and not ADVICE.search(step) and "tl.where" not in step


def test_advice_on_exponentials_needs_one_in_the_line():
    origin = NanOrigin("overflow", False, None, "c", "o", 1, 2, line=9, text="s = (q * k).to(tl.float16)")
    assert "exp" not in origin.wording().next_step
    assert "exp2 overflows" in replace(origin, text="p = tl.exp2(s)").wording().next_step
    assert origin.wording().sentence.startswith("In line 9 a number becomes too large")


@pytest.mark.parametrize("kind", ["zero over zero", "overflow"])
def test_a_nan_has_its_own_line_also_as_the_second_of_two_mistakes(kind):
    text = NanOrigin(kind, False, None, "c", "o", 1, 2, line=31).wording().sentence
    assert "n line 31" in text and "here" not in text.lower().replace("where", "")


def test_a_nan_is_called_the_first_only_where_none_was_made_before():
    origin = NanOrigin("zero times inf", False, None, "c", "o", 1, 2, line=31)
    assert origin.wording().sentence.startswith("The first NaN appears in line 31")
    assert replace(origin, first=False).wording().sentence.startswith("A NaN appears in line 31")


def test_a_nan_and_an_infinity_have_their_own_possible_causes_and_0_times_infinity_is_one():
    assert "0 · ∞" in not_finite.FROM_NAN and "0 · ∞" not in not_finite.FROM_INFINITY
    assert "logarithm of 0" in not_finite.FROM_INFINITY


@pytest.mark.parametrize("name", sorted(KINDS))
def test_no_kind_of_finding_advises_on_program_ids_or_says_that_nothing_else_is_wrong(name):
    texts = [
        node.value
        for node in ast.walk(ast.parse(inspect.getsource(inspect.getmodule(KINDS[name]))))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert not [text for text in texts if "program_id(" in text or "only this remains" in text.lower()]


def test_an_offset_that_wraps_around_is_not_blamed_on_a_program_id():
    assert "tl.program_id(0).to(" not in inspect.getsource(real_sizes.check_offset_range)


@pytest.mark.parametrize("step", [*case_status.STEPS.values(), *kept_part.STEPS.values()])
def test_a_step_without_a_question_only_says_what_must_hold(step):
    assert "?" in step or re.search(r"\b(?:must|keeps|says|compare|parentheses|Follow)\b", step)


def test_what_lies_before_a_tensor_is_not_kept_below_its_size():
    seen = "Program (1, 0, 0) reads a place 16 elements {} of Q, which has shape (3, 2)."
    before = case_status.OutOfBounds(seen.format("before the beginning"), cause="mask").wording()
    past = case_status.OutOfBounds(seen.format("past the end"), cause="mask").wording()
    assert "below" in past.next_step and "below" not in before.next_step and "negative" in before.next_step


@pytest.mark.parametrize("kind", sorted(EDIT_KINDS))
def test_every_edit_asks(kind):
    step = question_of(kind, "buffers - 1", "buffers")
    assert "?" in step or step.startswith("Write the formula")
    assert "element is the last" not in step  # a number of buffers has no last element


def test_a_fault_of_synchronisation_whose_cause_is_open_ends_with_a_question():
    facts = {"barrier": "full[0]", "missed": "consume", "expected": 8, "copied": 16, "hangs": False}
    for kind in ("phase overrun", "bytes"):
        assert fault_kinds.sentence(fault_kinds.SyncFault(kind, facts)).endswith("?")


def test_a_review_does_not_say_that_nothing_else_is_wrong_and_repeats_nothing():
    assert Review("Every case passes, but o is not contiguous.").wording().next_step == ""
    step = Review("The numbers are right, but the row is read twice.").wording().next_step
    assert step == "Every case passes, but the answer will be accepted only once this is fixed."


@pytest.mark.parametrize(
    ("new", "old", "shown"),
    [
        ("(first + shift + 1)", "first + shift", "first + shift + 1"),
        ("(tl.maximum(a, b)) // (BLOCK_Q)", "a // (BLOCK_Q)", "tl.maximum(a, b) // (BLOCK_Q)"),
        ("(tl.arange(0, BLOCK)) < columns", "along < columns", "tl.arange(0, BLOCK) < columns"),
        ("(a + b) * c", "a * c", "(a + b) * c"),
        ("(cdiv(M, B),)", "(M,)", "(cdiv(M, B),)"),
        ("(a, b)", "(b, a)", "(a, b)"),
        ("f(x)", "f(y)", "f(x)"),
    ],
)
def test_brackets_that_only_an_edit_needs_are_not_shown(new, old, shown):
    assert without_spare_parentheses(new, old) == shown


def edit(**changes) -> OneEdit:
    """An edit of a division that rounds down."""
    return replace(OneEdit("round up", 8, "(M // B)", "(tl.cdiv(M, B))", 2), **changes)


def test_a_change_in_several_places_of_a_line_reads_well():
    assert (
        "and the same change elsewhere in it, both failing cases pass" in edit(also=(8,)).wording().sentence
    )
    assert "and the same change in line 9, both failing cases pass" in edit(also=(9,)).wording().sentence


def test_two_mistakes_within_a_second_one_have_letters_and_the_end_is_said_once():
    second = Declared(
        "There are two mistakes. (1) `p.sum(1)` is wrong. (2) In tile (1, 0) …", f"(1) A? {AGAIN}"
    )
    kind = AfterRepair(3, 9, 5, (Finding(edit()), Finding(second)))
    sentence, step = kind.wording().sentence, kind.wording().next_step
    assert "(2) There are two more. (a) `p.sum(1)` is wrong. (b) In tile (1, 0) …" in sentence
    assert sentence.startswith("There are several mistakes") and step.count(AGAIN) == 1
    assert as_part("Line 3 has `f(1)`. In tile (1, 0) …") == "Line 3 has `f(1)`. In tile (1, 0) …"


def test_after_an_output_s_name_and_a_colon_comes_a_small_letter():
    assert NotCompared("wrong shape", "You returned a column.", "c", "dk").wording().sentence == (
        "dk: you returned a column."
    )
    assert NotCompared("wrong shape", "You returned a column.", "c").wording().sentence[0] == "Y"


def rows_of(got: torch.Tensor, expected: torch.Tensor) -> object:
    """What the rule on rows sees in one output of an exercise with matrices."""
    exercise = find("softmax_forward")
    case = exercise.cases[0]
    check = OutputCheck(
        name=exercise.outputs[0], ok=False, got=got, expected=expected, allowed=1e-6, error=1.0
    )
    return SomeRows.look(Clue(exercise, Outcome(case, Status.WRONG, outputs=(check,)), check))


def test_rows_of_zeros_are_no_right_rows():
    expected = torch.tensor([[1.0, 2.0], [0.0, 0.0], [3.0, 4.0]])
    assert rows_of(2 * expected, expected) is None
    found = rows_of(expected + torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]]), expected)
    assert found.count == 1 and "1 of 3 rows of p is wrong" in found.wording().sentence


def test_lanes_between_a_tensor_s_elements_are_not_called_outside():
    assert _lanes(5, 16, between=True) == "5 of the 16 lanes hit no element. "
    assert _lanes(1, 16) == "1 of the 16 lanes lies outside its memory. "


def test_a_refusal_that_is_missing_is_asked_for_by_its_own_exception():
    by_kind = {misfit.kind: _answered(misfit, None) for misfit in misfits()}
    assert {kind for kind, sentence in by_kind.items() if f"Raise a {kind} with" in sentence} == set(by_kind)
    assert len(by_kind) == 2 and not [s for s in by_kind.values() if "TypeError or ValueError" in s]


def test_a_wrong_constant_is_among_the_causes_of_a_constant_factor():
    step = ConstantFactor("dk", 1.4, None, (0.6, 1.4)).wording().next_step
    assert "another value" in step and "too often" in step


def test_a_line_that_means_something_else_is_not_told_to_be_wrong():
    departs = FirstDivergence("part", 7, False, "small", (0,), None, "the sum", "", None, (), (), None)
    assert "If it is meant to be something else, which line" in departs.wording().next_step


def test_a_leak_on_the_diagonal_asks_whether_the_mask_runs_and_is_used():
    leak = DiagonalTilesUnmasked("small", (0, 1), 0, None, False)
    assert leak.wording().next_step.endswith("is its result used?")


@pytest.mark.parametrize(("wrong", "who"), [((1,), "does this program"), ((1, 2), "do these programs")])
def test_in_what_programs_with_wrong_elements_differ_is_left_open(wrong, who):
    assert SomePrograms("o", "c", 4, wrong).wording().next_step == f"How {who} differ from the others?"
