"""What a judge takes for rounding, before it asks whether an answer passes with its author's own draws."""

from __future__ import annotations

import torch

from flashlearn.classroom.grading.exercise_grade import is_rounding
from flashlearn.exercise import Case
from flashlearn.outcome import Outcome, OutputCheck, Status

RIGHT = Outcome(Case("right"), Status.PASS)


def wrong(error: float, expected: float = 1.0, allowed: float = 1e-6, rms: float = float("nan")) -> Outcome:
    values = torch.tensor([expected, 0.5 * expected], dtype=torch.float64)
    output = OutputCheck("o", False, error, allowed, rms, got=values, expected=values)
    return Outcome(Case("wrong"), Status.WRONG, outputs=(output,))


def decided(*outcomes: Outcome, of: int = 8) -> bool:
    return is_rounding([*outcomes, *[RIGHT] * (of - len(outcomes))])


def test_a_little_more_than_is_allowed_is_rounding_also_where_zero_is_right():
    assert decided(wrong(1.9e-6, expected=0.0)) and not decided(wrong(2.1e-6, expected=0.0))


def test_a_ten_thousandth_of_the_largest_number_is_rounding_and_a_hundredth_is_not():
    assert decided(wrong(1e-4)) and not decided(wrong(1e-2))


def test_rounding_shows_in_few_cases():
    assert decided(wrong(1e-4), wrong(1e-4)) and not decided(wrong(1e-4), wrong(1e-4), wrong(1e-4))


def test_beside_an_infinity_that_is_right_no_error_is_small():
    infinite = float("-inf")
    assert not decided(wrong(1.0, expected=infinite)) and not decided(wrong(float("inf"), expected=infinite))


def test_noise_throughout_an_output_is_no_rounding():
    assert decided(wrong(1e-6, rms=1.3)) and not decided(wrong(1e-6, rms=1.7))


def test_another_fault_is_no_rounding():
    assert not decided(Outcome(Case("race"), Status.RACE)) and not decided()
