"""Candidates are sorted out by what the compiler says; only the others are timed; the best is remembered."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from flashlearn.bench import tuning
from flashlearn.compiler import Budget
from flashlearn.kernels import shapes
from flashlearn.kernels.shapes import Shape
from flashlearn.machine.timers import Timer

FITS = Budget(90, "H100", registers=100, spill_bytes=0, shared_bytes=1000, occupancy=0.25)


class ByNumber(Timer):
    """Each call returns how long it takes."""

    def times(self, calls):
        return [float(call()) for call in calls]


def found(budgets: dict[Shape, Budget | None], milliseconds: dict[Shape, float]):
    timed: list[Shape] = []

    def call(shape):
        timed.append(shape)
        return lambda: milliseconds[shape]

    return tuning.search(list(budgets), budgets.get, call, ByNumber()), timed


def test_what_spills_or_does_not_fit_is_never_timed():
    good, spilling, large, broken = (Shape(64, 64, 4, stages) for stages in (1, 2, 3, 4))
    budgets = {
        good: FITS,
        spilling: replace(FITS, spill_bytes=64),
        large: replace(FITS, occupancy=0.0),
        broken: None,
    }
    tried, timed = found(budgets, {good: 1.0})
    assert timed == [good]
    assert tried[0].shape == good
    assert [
        "spills 64" in one.why or "do not fit" in one.why or "compile" in one.why for one in tried[1:]
    ] == [
        True,
        True,
        True,
    ]


def test_the_fastest_of_those_that_are_timed_comes_first():
    slow, fast = Shape(64, 64, 4, 1), Shape(64, 128, 4, 1)
    tried, _ = found({slow: FITS, fast: FITS}, {slow: 3.0, fast: 2.0})
    assert [one.shape for one in tried] == [fast, slow]


def test_no_more_than_a_handful_is_timed():
    many = {Shape(64, 64, 4, stages): FITS for stages in range(1, 2 * tuning.MAX_TIMED)}
    tried, timed = found(many, dict.fromkeys(many, 1.0))
    assert len(timed) == tuning.MAX_TIMED
    assert len(tried) == len(many)


@pytest.mark.parametrize("kernel", tuning.KERNELS)
def test_the_budget_is_that_of_the_kernel_that_is_asked_for(kernel):
    made = tuning.budget_of(kernel, 64, True, torch.bfloat16)(Shape(64, 64, 4, 1))
    assert made.kernel == tuning.KERNELS[kernel]
    assert tuning.refusal(made) == ""


def test_a_remembered_shape_comes_back_for_its_key_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    q = torch.empty(1, 1, 8, 64, dtype=torch.bfloat16)
    other = Shape(128, 32, 8, 3, 200)
    shapes.remember({shapes.key("forward", q, True): other})
    try:
        assert shapes.forward_shape(q, causal=True) == other
        assert shapes.forward_shape(q, causal=False) != other
    finally:
        shapes._remembered.cache_clear()


def test_a_file_that_nobody_wrote_so_is_as_good_as_none(tmp_path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_HOME", str(tmp_path))
    (tmp_path / shapes.FILE).write_text('{"no": ["shape"]}')
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    shapes._remembered.cache_clear()
    try:
        assert shapes.forward_shape(torch.empty(1, 1, 8, 64, dtype=torch.bfloat16)).block_q == 64
    finally:
        shapes._remembered.cache_clear()
