"""How a finding reads: nothing is said twice, and every figure names its case or its place."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import flashlearn
from flashlearn.exercise import Case
from flashlearn.explaining.faults import from_status
from flashlearn.explaining.findings.declared import where
from flashlearn.explaining.findings.never_read import (
    ANYWHERE,
    HEADS,
    Example,
    NeverRead,
    SomeHeadsNeverRead,
    Unread,
)
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.precision import RoundedInside
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.findings.zero_sign_constants import ConstantFactor, Meaning
from flashlearn.explaining.scope import scope_of
from flashlearn.interpreter.bounds import _where
from flashlearn.interpreter.views import View
from flashlearn.judging.return_values import mismatch_sentence
from flashlearn.lessons import find
from flashlearn.observation import Place
from flashlearn.outcome import Finding, Misfit, Outcome, OutputCheck, Status


def sentence(*told: Finding) -> str:
    """What is said of several outputs."""
    return Finding(Outputs(told)).sentence


def factor(output: str, factor: float) -> Finding:
    return Finding(ConstantFactor(output, factor))


def test_a_sentence_that_holds_for_two_outputs_is_said_once():
    told = sentence(factor("dk", 2.0), factor("dv", 2.0))
    assert told == "dk is 2 times the right answer, everywhere. dv shows the same."


def test_sentences_with_different_figures_are_both_said():
    told = sentence(factor("dk", 2.0), factor("dv", 3.0))
    assert told == ("dk is 2 times the right answer, everywhere. dv is 3 times the right answer, everywhere.")


def test_figures_that_read_alike_are_the_same_to_a_reader():
    assert "dv shows the same." in sentence(factor("dk", 2.0), factor("dv", 2.000001))


def test_what_was_never_read_is_listed_once_for_two_outputs():
    q, v = Unread("q", 0, 16, 55, 56, 640), Unread("v", 0, 16, 55, 56, 640)
    told = [
        Finding(NeverRead(output, Example("c", unread))) for output, unread in (("o", (q, v)), ("lse", (q,)))
    ]
    assert sentence(*told).endswith("Never read in case “c”: q[16:], v[16:]. lse shows the same.")


def test_where_nothing_is_stored_either_the_loads_are_not_asked_about():
    assert "addresses lead there" in NeverRead("o").wording().next_step
    step = NeverRead("o", unwritten=True).wording().next_step
    assert "which programs should read and write there" in step and "addresses" not in step


def test_what_is_said_of_an_input_is_said_once_whatever_depends_on_it():
    q, k, again = (
        Finding(SomeHeadsNeverRead(output, tensor))
        for output, tensor in (("o", "q"), ("lse", "k"), ("m", "k"))
    )
    assert sentence(q, k, again) == "q is read for some heads only. k is read for some heads only."
    assert sentence(k, again) == "k is read for some heads only."


def test_a_number_that_has_a_name_is_the_same_however_exactly_it_was_found():
    meaning = Meaning("alpha")
    told = [
        Finding(ConstantFactor(output, number, meaning)) for output, number in (("dk", 0.125), ("dv", 0.1251))
    ]
    assert sentence(*told).endswith("dv shows the same.")


def test_shapes_of_two_outputs_in_two_cases_are_not_taken_for_one():
    told = [
        Finding(Shape(o, Misfit("shape", (1, 2), (4, 2)), case, ("dq", "dk")))
        for o, case in (("dq", "a"), ("dk", "b"))
    ]
    assert "same" not in sentence(*told)


def test_an_output_of_which_nothing_is_known_leaves_the_finding_open():
    told = Finding(Outputs((factor("o", 2.0),), ("lse",))).sentence
    assert told.endswith("everywhere. The output `lse` is wrong too.")


def test_after_a_sentence_about_one_case_other_outputs_are_wrong_in_some_cases():
    shape = Finding(Shape("dq", Misfit("shape", (1, 2), (4, 2)), "a", ("dq", "dk", "dv", "lse")))
    told = Finding(Outputs((shape,), ("dk", "dv", "lse"))).sentence
    assert told.endswith("(case a). The outputs `dk`, `dv` and `lse` are wrong too, in some cases.")


@pytest.mark.parametrize(
    ("unread", "part"),
    [
        (Unread("x", 1, 0, 7, 100, 8), "x[:, :8]"),
        (Unread("q", 0, 16, 55, 56, 640), "q[16:]"),
        (Unread("lse", 2, 16, 31, 64, 16), "lse[:, :, 16:32]"),
        (Unread("k", HEADS, 1, 5, 6, 80), "k, heads 1 to 5 of 6"),
        (Unread("k", HEADS, 1, 1, 2, 80), "k, head 1 of 2"),
        (Unread("v", ANYWHERE, 0, 0, 0, 12), "12 elements of v"),
    ],
)
def test_a_part_that_was_not_read_is_told_as_torch_would_slice_it(unread, part):
    assert str(unread) == part


def test_a_scope_of_two_outputs_is_in_the_plural():
    asked = {("a", "dk"), ("a", "dv")}
    scope = scope_of(asked, {("a", "dq")}, [], asked)
    assert where(scope) == "Only dk and dv show it; dq is right."


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (("load", True, (4, 0)), "by which stride is it multiplied"),
        (("load", True, (4,), "far"), "below the tensor's size"),
        (("load", True, (0, -1), "below"), "should it become negative"),
        (("load", True, (0, -1), "below", ("cause", "subtracted")), "grow with this index"),
        (("load", False, (4, 0), "far"), "a mask must leave out the lanes"),
        (("load", True, (2, 0), "gaps"), "stride"),
        (("load", True, None), "Follow the pointer"),
        (("load", True, "misaligned"), "dtype"),
        ((), "Follow the pointer"),
    ],
)
def test_the_step_after_a_stray_access_fits_what_went_astray(fault, word):
    outcome = Outcome(Case("c"), Status.OUT_OF_BOUNDS, "It went astray.", fault=fault, mode="compiled")
    assert word in from_status(find("row_sum"), [outcome]).next_step


def test_a_stray_access_of_a_kernel_of_the_course_asks_what_the_answer_gives_it():
    place = Place(str(Path(flashlearn.__file__).parent / "kernels/lent.py"), 3, "x = tl.load(x_ptr + i)")
    fault = ("load", True, (4, 0))
    outcome = Outcome(
        Case("c"), Status.OUT_OF_BOUNDS, "It went astray.", "", place, fault=fault, mode="compiled"
    )
    assert "which tensors, lengths and strides" in from_status(find("row_sum"), [outcome]).next_step


def check(got: list[float], expected: list[float], writers: list[int], allowed: float = 1e-6) -> OutputCheck:
    """A wrong output with its values."""
    numbers = (torch.tensor(got), torch.tensor(expected, dtype=torch.float64))
    error = float((numbers[0].double() - numbers[1]).abs().max())
    return OutputCheck("z", False, error, allowed, 0.0, "", *numbers, torch.tensor(writers))


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (check([float("nan"), 1.0], [1.0, 1.0], [0, 0]), "1 of 2 elements of z is NaN or infinite"),
        (check([float("nan"), 1.0], [1.0, 1.0], [-1, 0]), "1 of 2 elements of z was never written"),
        (check([float("nan")] * 2, [1.0, 1.0], [0, 0]), "Every element of z is NaN or infinite"),
        (
            check([0.0, 1.0], [-float("inf"), 1.0], [0, 0]),
            "z is wrong where the right answer is infinite.",
        ),
        (
            check([0.0, 3.0, 1.0], [-float("inf"), 1.0, 1.0], [0, 0, 0]),
            "2 of 3 elements of z are wrong; 1 of them should be infinite.",
        ),
        (check([1.0, 3.0], [1.0, 1.0], [0, 0], 0.0), "z is off by up to 2; it must be exact."),
    ],
)
def test_what_was_seen_says_which_way_round_it_is_wrong(output, sentence):
    assert mismatch_sentence((output,)).startswith(sentence)


def test_an_index_below_zero_is_told_where_the_index_begins():
    view = View("q_ptr", (2, 8), (8, 1), 16, 4)
    assert _where(view, view.coordinates(4 * 12), 4 * 12).endswith(
        "q_ptr has shape (2, 8): index 0 must not be negative"
    )
    assert _where(view, view.coordinates(4 * 33), 4 * 33).endswith(
        "q_ptr has shape (2, 8): index 0 must not exceed 1"
    )


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("product = (o * do).to(tl.float32)", "Are the operands converted"),
        ("s = tl.dot(q, k).to(q.dtype)", "The result of tl.dot is in tl.float32"),
        ("p = tl.exp(s - m[:, None]).to(v.dtype)", "Which uses of this value"),
        ("inner = tl.sum(p * dp, axis=0)", "which of its uses need all digits"),
    ],
)
def test_what_is_asked_of_a_line_that_rounds_fits_the_line(text, asked):
    wording = RoundedInside((), (25,), 3, 0, sum_name="", text=text).wording()
    assert wording.sentence == (
        "A value that line 25 computes is rounded to half precision. In a run in which it is not "
        "rounded, all 3 failing cases pass."
    )
    assert asked in wording.next_step


@pytest.mark.parametrize(
    ("exercise", "mistake", "untrue"),
    [
        ("alibi", "distance from the top-left", "all else is right"),  # digits are lost in the gradients
        ("sinks", "the sink is not in the maximum", "maximum of the scores alone"),  # it may begin with 0
        ("fa3_forward", "a product is used before its wait", "the older one"),  # it may be the newer one
        ("hadamard_rotate", "signs after the product", "pattern"),  # so it is with the signs before H
    ],
)
def test_a_declared_mistake_says_nothing_that_only_some_answers_with_it_have(exercise, mistake, untrue):
    declared = find(exercise).all_mistakes[mistake]
    assert untrue not in f"{declared.sentence} {declared.next_step}"
