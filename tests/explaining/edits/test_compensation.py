"""An edit that takes a protection away is believed only if every kind of case speaks for it."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from flashlearn.exercise import Case
from flashlearn.explaining.edits.compensation import compensates
from flashlearn.explaining.edits.edit import Edit, kind_named
from flashlearn.explaining.edits.naturalness import Naturalness, naturalness
from flashlearn.outcome import Misfit, Outcome, OutputCheck, Status

FULL = Outcome(Case("full", seed=1, dtype=torch.float32), Status.WRONG)
HALF = Outcome(Case("half", seed=2, dtype=torch.float16), Status.WRONG)
UNROUNDED = "tl.load(x_ptr + i, mask=m, other=0.0).to(tl.float32)"


def edit(kind, old, new):
    return Edit(kind_named(kind), 0, len(old), new, 1, old, new)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("cast", UNROUNDED, "tl.load(x_ptr + i, mask=m, other=0.0)"),
        ("dtype", "torch.float32", "x.dtype"),
        ("fixed size", "16", "max(16, triton.next_power_of_2(N))"),
    ],
)
def test_less_precision_is_no_mistake_of_cases_in_half_precision(kind, old, new):
    assert compensates(edit(kind, old, new), [HALF, HALF])
    assert not compensates(edit(kind, old, new), [HALF, FULL])


@pytest.mark.parametrize("old", ["(i < M) & (j < N)", "tl.load(x_ptr + i, mask=m)", "tl.load(x, other=0.0)"])
def test_a_single_case_does_not_show_that_a_mask_or_its_filler_is_one_too_many(old):
    new = {"(": "(i < M)", "t": "tl.load(x)"}[old[0]]
    assert compensates(edit("redundant operand", old, new), [FULL])
    assert not compensates(edit("redundant operand", old, new), [FULL, HALF])


def test_where_an_output_has_the_wrong_dtype_a_conversion_may_be_one_too_many():
    misfit = OutputCheck("y", False, problem="y is wrong", misfit=Misfit("dtype", "float32", "float16"))
    assert not compensates(edit("cast", "y.to(tl.float32)", "y"), [replace(HALF, outputs=(misfit,))])


def test_more_protection_is_never_refused():
    assert not compensates(edit("cast", UNROUNDED.removesuffix(".to(tl.float32)"), UNROUNDED), [HALF])


def test_a_number_before_a_division_that_rounds_down_may_be_what_is_wrong():
    text = "n = (S_q - 2) // BQ\n"
    up = edit("round up", "(S_q - 2) // BQ", "tl.cdiv(S_q - 2, BQ)")
    assert naturalness(text, up) is Naturalness.ODD
    assert (
        naturalness("n = S_q // BQ\n", edit("round up", "S_q // BQ", "tl.cdiv(S_q, BQ)"))
        is not Naturalness.ODD
    )
