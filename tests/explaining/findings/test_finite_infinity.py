"""A finite number in place of −∞."""

from __future__ import annotations

import pytest
import torch

from flashlearn.explaining.findings.finite_infinity import FiniteInfinity
from flashlearn.explaining.findings.rule import Clue
from flashlearn.lessons import find
from flashlearn.outcome import Outcome, OutputCheck, Status

INF = float("inf")


def clue(got: list[float], expected: list[float]) -> Clue:
    exercise = find("flash_forward_causal")
    check = OutputCheck("lse", False, INF, 1e-6, got=torch.tensor(got), expected=torch.tensor(expected))
    return Clue(exercise, Outcome(exercise.cases[0], Status.WRONG, outputs=(check,)), check)


def test_one_number_wherever_the_right_answer_is_infinite_is_named():
    found = FiniteInfinity.look(clue([-1e30, -1e30, 2.0], [-INF, -INF, 2.0]))
    assert found is not None and "lse is -1e+30 wherever it should be −∞" in found.wording().sentence


@pytest.mark.parametrize(
    "got", [[-1e30, -1e30, 3.0], [-1e30, -2e30, 2.0], [0.0, 0.0, 2.0], [-INF, -1e30, 2.0]]
)
def test_other_numbers_are_not(got):
    assert FiniteInfinity.look(clue(got, [-INF, -INF, 2.0])) is None
