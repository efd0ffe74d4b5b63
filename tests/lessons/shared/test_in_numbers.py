"""A symbolic answer put to work on tensors, in whatever form it comes back."""

import pytest
import torch

from flashlearn.lessons.shared.in_numbers import in_numbers

P, DO = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), torch.tensor([[1.0], [-1.0], [0.5]])


@pytest.mark.parametrize(
    "answer",
    [
        lambda p, do, a: (a * p.T * do, do),
        lambda p, do, a: [(a * p.T * do).tolist(), do.tolist()],
        lambda p, do, a: {"dv": a * p.T * do, "do": do},
    ],
)
def test_several_results_come_back_as_tensors_however_they_are_held(answer):
    dv, do = in_numbers(answer, P, DO, torch.tensor(2.0))
    assert torch.equal(dv, 2.0 * (P.T @ DO).double()) and torch.equal(do, DO.double())


def test_one_number_is_a_tensor_without_dimensions():
    (total,) = in_numbers(lambda p: sum(p), P)
    assert total.shape == () and float(total) == 21.0
