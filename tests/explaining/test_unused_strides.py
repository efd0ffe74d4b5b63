"""Strides that a kernel takes and does not use."""

from __future__ import annotations

import pytest

from flashlearn.exercise import Case
from flashlearn.explaining.unused_strides import find_unused_strides
from flashlearn.outcome import Outcome, Status

KERNEL = """@triton.jit
def copy_kernel(x_ptr, y_ptr, n, x_step, y_step, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i{store}, tl.load(x_ptr + i{load}, mask=i < n), mask=i < n)


def copy(x, unused):
    return x
"""


class Written:
    """An answer with a text."""

    def __init__(self, store: str, load: str):
        self.text = KERNEL.format(store=store, load=load)

    def sections(self):
        return [self]


def outcome(status, *tags):
    return Outcome(Case("c", {}, tags=frozenset(tags)), status)


RIGHT, WRONG = outcome(Status.PASS), outcome(Status.WRONG, "strided")


def test_parameters_that_no_line_uses_are_named_where_only_views_fail():
    finding = find_unused_strides([RIGHT, WRONG], Written(" * y_step", ""))
    assert "no line of copy_kernel uses `x_step`" in finding.sentence and finding.fits == 1
    both = find_unused_strides([RIGHT, WRONG], Written("", "")).sentence
    assert "uses `x_step` and `y_step`" in both


@pytest.mark.parametrize(
    ("outcomes", "load"),
    [
        ([RIGHT, WRONG], " * x_step"),  # all are used
        ([outcome(Status.WRONG), WRONG], ""),  # a contiguous input fails, too
        ([WRONG], ""),  # nothing shows that others pass
        ([RIGHT, outcome(Status.PASS, "strided")], ""),
    ],
)
def test_nothing_is_said_where_all_are_used_or_other_cases_fail(outcomes, load):
    assert find_unused_strides(outcomes, Written(" * y_step", load)) is None
