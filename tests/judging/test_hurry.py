"""A slow kernel that is wrong often enough is spared the longest cases, and the report says so."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl

import flashlearn
from flashlearn.judging import cases as running
from flashlearn.lessons import find
from flashlearn.outcome import Status


@triton.jit
def _rows_kernel(x_ptr, s_ptr, n, step, column, BLOCK: tl.constexpr, EXTRA: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    at = x_ptr + tl.program_id(0).to(tl.int64) * step + lanes * column
    x = tl.load(at, mask=lanes < n, other=0.0).to(tl.float32)
    tl.store(s_ptr + tl.program_id(0), tl.sum(x) + EXTRA)


def launcher(extra):
    def row_sum(x):
        s = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        block = triton.next_power_of_2(x.shape[1])
        _rows_kernel[(len(x),)](x, s, x.shape[1], *x.stride(), BLOCK=block, EXTRA=extra)
        return s

    return row_sum


@pytest.fixture
def slow(monkeypatch):
    """A few accesses to memory are already many."""
    monkeypatch.setattr(running, "ACCESS_BUDGET", 100)


def observed(exercise):
    return [case.name for case in exercise.cases if not case.gpu]


def test_a_kernel_that_is_wrong_and_slow_is_not_run_on_every_case(slow):
    exercise = find("row_sum")
    outcomes = running.run(exercise, launcher(extra=1), compiled=False)
    ran = [o.case.name for o in outcomes]
    assert running.MIN_FAILURES <= len(ran) < len(observed(exercise))
    assert ran == [name for name in observed(exercise) if name in ran]
    assert all(o.status is Status.WRONG for o in outcomes)


def test_a_right_kernel_is_run_on_every_case_however_slow(slow):
    exercise = find("row_sum")
    outcomes = running.run(exercise, launcher(extra=0), compiled=False)
    assert [o.case.name for o in outcomes if "other numbers" not in o.case.name] == observed(exercise)
    assert all(o.status is Status.PASS for o in outcomes)


def test_a_fast_kernel_that_is_wrong_is_run_on_every_case():
    exercise = find("row_sum")
    assert [o.case.name for o in running.run(exercise, launcher(extra=1), compiled=False)] == observed(
        exercise
    )


def test_the_report_says_how_many_cases_were_left_out(slow):
    report = flashlearn.check("row_sum", launcher(extra=1), demo=True)
    left = len(observed(report.exercise)) - len(report.outcomes)
    assert left > 1 and f"({left} slow cases were skipped" in " ".join(report.text(width=200).split())
