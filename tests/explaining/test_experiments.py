"""Suspicions that are tested by running the answer once more."""

import torch

from flashlearn import check
from flashlearn.explaining.experiments import MARKS

ADD = "scaled_add"


def returns_fresh_memory(a, x, y):
    return torch.empty_like(x)


def fills_with(value):
    def launcher(a, x, y):
        return torch.full_like(x, value)

    return launcher


def test_memory_that_nobody_writes_is_told_as_a_launch_that_is_missing():
    assert check(ADD, returns_fresh_memory).finding.kind == "nothing launched"


def test_an_answer_whose_number_happens_to_be_a_mark_is_not_fresh_memory():
    for mark in MARKS:
        found = check(ADD, fills_with(mark)).finding
        assert found is None or found.kind != "nothing launched"
