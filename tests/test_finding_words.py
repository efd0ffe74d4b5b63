"""How a finding reads: nothing is said twice, and every figure names its case or its place."""

from __future__ import annotations

import pytest
import torch

from flashlearn.comparing import wrong_sentence
from flashlearn.diagnose import _sentences
from flashlearn.diagnose.faults import from_status
from flashlearn.diagnose.scope import scope_of
from flashlearn.exercise import Case
from flashlearn.exercises import find
from flashlearn.observe.access import _where
from flashlearn.observe.shadow import View
from flashlearn.outcome import Finding, Outcome, OutputCheck, Status
from flashlearn.rules.reading import ANYWHERE, HEADS, Unread


def test_a_sentence_that_holds_for_two_outputs_is_said_once():
    told = {n: Finding("constant factor", f"{n} is 2 times the right answer.") for n in ("dk", "dv")}
    assert _sentences(told) == "dk is 2 times the right answer. The same holds for dv."


def test_sentences_with_different_figures_are_both_said():
    told = {"dk": Finding("f", "dk is 2 times right."), "dv": Finding("f", "dv is 3 times right.")}
    assert _sentences(told) == "dk is 2 times right. dv is 3 times right."


def test_what_was_never_read_is_listed_once_for_two_outputs():
    told = {
        n: Finding(
            "never read", f"No program ever reads all that {n} depends on. Never read in case c: {part}."
        )
        for n, part in (("o", "q[16:], v[16:]"), ("lse", "q[16:]"))
    }
    assert _sentences(told).endswith("Never read in case c: q[16:], v[16:]. The same holds for lse.")


def test_shapes_of_two_outputs_in_two_cases_are_not_taken_for_one():
    told = {
        "dq": Finding("shape", "dq has shape (1, 2), expected (4, 2) (case a)."),
        "dk": Finding("shape", "dk has shape (1, 2), expected (4, 2) (case b)."),
    }
    assert "same" not in _sentences(told)


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
    assert unread.part == part


def test_a_scope_of_two_outputs_is_in_the_plural():
    asked = {("a", "dk"), ("a", "dv")}
    assert scope_of(asked, {("a", "dq")}, [], asked) == "Only dk and dv show it; dq is right."


@pytest.mark.parametrize(
    ("fault", "message", "word"),
    [
        (("load", True, (4, 0)), "", "bound in the mask"),
        (("load", False, (4, 0)), "", "A mask"),
        (("load", True, (2, 0)), "its strides (22, 2) leave gaps.", "stride"),
        (("load", True, None), "", "Follow the pointer"),
        (("load", True, "misaligned"), "", "dtype"),
    ],
)
def test_the_step_after_a_stray_access_fits_what_went_astray(fault, message, word):
    outcome = Outcome(Case("c"), Status.OUT_OF_BOUNDS, message, fault=fault, mode="compiled")
    assert word in from_status(find("row_sum"), [outcome]).next_step


def check(got: list[float], expected: list[float], writers: list[int], allowed: float = 1e-6) -> OutputCheck:
    """A wrong output with its values."""
    numbers = (torch.tensor(got), torch.tensor(expected, dtype=torch.float64))
    error = float((numbers[0].double() - numbers[1]).abs().max())
    return OutputCheck("z", False, error, allowed, 0.0, "", *numbers, torch.tensor(writers))


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        (check([float("nan"), 1.0], [1.0, 1.0], [0, 0]), "z is NaN or infinite in 1 of 2 elements"),
        (check([float("nan"), 1.0], [1.0, 1.0], [-1, 0]), "z was never written in 1 of 2 elements"),
        (check([float("nan")] * 2, [1.0, 1.0], [0, 0]), "All of z is NaN or infinite"),
        (check([0.0, 1.0], [-float("inf"), 1.0], [0, 0]), "z is wrong where the right answer is infinite."),
        (check([1.0, 3.0], [1.0, 1.0], [0, 0], 0.0), "z is off by up to 2; it has to be exact."),
    ],
)
def test_what_was_seen_says_which_way_round_it_is_wrong(output, sentence):
    assert wrong_sentence((output,)).startswith(sentence)


def test_an_index_below_zero_is_told_where_the_index_begins():
    view = View("q_ptr", (2, 8), (8, 1), 16, 4)
    assert _where(view, 4 * 12).endswith("q_ptr has shape (2, 8): index 0 begins at 0")
    assert _where(view, 4 * 33).endswith("q_ptr has shape (2, 8): index 0 ends at 1")
