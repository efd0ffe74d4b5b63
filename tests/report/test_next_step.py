"""What is left to do where no mistake is known: which values to compare, or which outputs are right."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from flashlearn.explaining.findings.never_read import BOUNDS
from flashlearn.explaining.findings.some_rows import SomeRows
from flashlearn.lessons import find
from flashlearn.outcome import Outcome, OutputCheck, Status
from flashlearn.report.data import CheckResult
from flashlearn.report.verdict_sentences import next_step_of


def step(name: str, wrong: set[str], count: int = 1) -> str:
    """The next step of an exercise some of whose outputs are wrong in so many cases."""
    exercise = find(name)
    outcomes = []
    for case in exercise.cases[:count]:
        checks = (OutputCheck(output, output not in wrong, got=torch.zeros(1)) for output in exercise.outputs)
        outcomes.append(Outcome(case, Status.WRONG, outputs=tuple(checks)))
    return next_step_of(CheckResult(exercise, tuple(outcomes)))


def test_outputs_that_are_right_in_every_case_are_named():
    said = step("tuned_backward", {"dk"})
    assert said.startswith("dq and dv are right in every case. Follow dk back through the lines")
    assert "P = exp" not in said  # dq and dv are made of it
    said = step("tuned_backward", {"dk", "dv"})
    assert said.startswith("dq is right in every case. Follow dk and dv back through the lines")


def test_the_values_of_a_tile_are_asked_about_and_none_is_said_to_be_wrong_or_scaled():
    said = step("tuned_backward", {"dq", "dk", "dv"})
    values = "S = alpha Q Kᵀ; P = exp(S − LSE); dP = dO Vᵀ; dS = P ∘ (dP − delta)"
    assert f": {values}? (A factor" in said and said.startswith("Which of these")
    assert "removes again is no mistake" in said and "exp2" not in said


def test_one_quantity_alone_is_no_question():
    assert step("online_logsumexp", {"lse"}) == "Compare your intermediate values with the formula's."


@pytest.mark.parametrize("change", [{"layout": "transposed"}, {"data": "rows far apart"}])
def test_a_view_or_special_data_are_no_plain_case_and_no_list_is_asked_about(change):
    exercise = find("dq_kernel")
    cases = [replace(case, **change) for case in exercise.cases[:2]]
    checks = (OutputCheck("dq", False, got=torch.zeros(1)),)
    outcomes = tuple(Outcome(case, Status.WRONG, outputs=checks) for case in cases)
    said = next_step_of(CheckResult(exercise, outcomes))
    assert "A plain case" not in said and "One case that fails: “" in said and "Which of these" not in said


def test_an_example_is_not_called_the_course_s_own():
    exercise = find("masked_tiles")
    checks = tuple(OutputCheck(output, False) for output in exercise.outputs)
    said = next_step_of(CheckResult(exercise, (Outcome(exercise.cases[0], Status.WRONG, outputs=checks),)))
    assert "a small example" in said and "the small example" not in said


@pytest.mark.parametrize("asked", [BOUNDS, SomeRows("o", "c", 1, 2, (0, 1)).wording().next_step])
def test_a_question_about_loads_or_rows_tells_nothing_that_may_be_right(asked):
    assert asked.endswith("?") and "Compare" not in asked


def test_a_small_case_is_named_where_several_fail():
    assert "A plain case that fails: “" in step("dq_in_one_walk", {"dq"}, count=3)
    assert "A small case" not in step("dq_in_one_walk", {"dq"})


def test_without_quantities_the_formula_is_what_to_compare_with():
    assert step("row_sum", {"s"}) == "Compare your intermediate values with the formula's."


def test_of_an_output_that_holds_numbers_no_store_is_asked_about():
    exercise = find("dq_kernel")
    nobody = torch.full((2,), -1)

    def of(*got: float) -> str:
        check = OutputCheck("dq", False, got=torch.tensor(got), writers=nobody)
        return next_step_of(
            CheckResult(exercise, (Outcome(exercise.cases[0], Status.WRONG, outputs=(check,)),))
        )

    assert "into which tensor do they store" in of(0.0, float("nan"))
    assert "into which tensor do they store" not in of(0.0, 1.5)  # it was added to, atomically
