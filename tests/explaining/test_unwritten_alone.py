"""A case in which elements are never written, and no number is wrong, shows no second mistake."""

from types import SimpleNamespace

import torch

from flashlearn.explaining.stages import _is_zero, _shows_unwritten_alone
from flashlearn.outcome import OutputCheck


def alone(got: list[float], writers: list[int]) -> bool:
    right = torch.ones(len(got), dtype=torch.float64)
    given = {"got": torch.tensor(got), "expected": right, "writers": torch.tensor(writers)}
    return _shows_unwritten_alone(SimpleNamespace(outputs=(OutputCheck("o", False, 1.0, 1e-3, **given),)))


def test_elements_that_nobody_wrote_are_told_from_wrong_numbers_and_from_stored_nan():
    assert alone([1.0, float("nan")], [0, -1])
    assert not alone([2.0, float("nan")], [0, -1])
    assert not alone([1.0, float("nan")], [0, 0])


def test_outputs_that_are_0_everywhere_say_little():
    def zero(*outputs: list[float]) -> bool:
        checks = tuple(OutputCheck("o", False, 1.0, 1e-3, got=torch.tensor(got)) for got in outputs)
        return _is_zero(SimpleNamespace(outputs=checks))

    assert zero([0.0, 0.0], [0.0])
    assert not zero([0.0, 0.0], [2.0])
