"""Scores that a tensor core sums in few bits are right; a log-sum-exp that is a little off is not."""

from __future__ import annotations

import functools

import pytest

from flashlearn.judging.draws import Draws
from flashlearn.lessons import find
from flashlearn.lessons.lesson_14_low_precision import attention
from flashlearn.lessons.lesson_14_low_precision.eight_bits import KEPT_BITS

EXERCISE = find("fp8_forward")
CASES = [case for case in EXERCISE.cases if not case.gpu]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("bits", [KEPT_BITS - 1, KEPT_BITS, 20])
def test_scores_summed_in_the_bits_that_are_reported_are_within_what_is_allowed(case, bits, monkeypatch):
    drawn = Draws(EXERCISE).of(case)
    drawn.truth.allowed(1)
    monkeypatch.setattr(attention, "short_products", functools.partial(attention.short_products, bits=bits))
    o, lse = attention.attention(**drawn.inputs, factor=256.0, short=True)
    assert drawn.truth.judge(0, o).ok and drawn.truth.judge(1, lse).ok


@pytest.mark.parametrize("case", [c for c in CASES if c.magnitude == 1], ids=lambda case: case.name)
def test_a_log_sum_exp_that_is_off_by_a_fiftieth_is_rejected(case):
    drawn = Draws(EXERCISE).of(case)
    _, lse = attention.attention(**drawn.inputs)
    assert not drawn.truth.judge(1, lse + 0.02).ok
