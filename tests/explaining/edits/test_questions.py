"""The question after an edit is about what the edit changes."""

from __future__ import annotations

import pytest

from flashlearn.explaining.edits.edit import EDIT_KINDS, kind_named
from flashlearn.explaining.edits.questions import BY_KIND, question_of


@pytest.mark.parametrize(
    ("kind", "old", "new", "word"),
    [
        ("operator", "a + b", "a - b", "added or subtracted"),
        ("operator", "a * LOG2E", "a / LOG2E", "multiplied"),
        ("operator", "pid // n", "pid % n", "remainder"),
        ("operator", "rows & columns", "rows | columns", "conditions"),
        ("redundant operand", "n - 1", "n", "small numbers"),
        ("redundant operand", "seen & inside", "seen", "conditions"),
        ("constant", "MASKED=False", "MASKED=True", "flag"),
        ("constant", "tl.where(blind, 0.0, m)", 'tl.where(blind, float("-inf"), m)', "condition"),
        ("constant", "n + B - 2", "n + B - 1", "small numbers"),
        (
            "fill value",
            "tl.where(l > 0, lse, 0.0)",
            'tl.where(l > 0, lse, float("-inf"))',
            "true, and what where it is false",
        ),
        ("fill value", "tl.load(p, mask=m, other=0.0)", "tl.load(p, mask=m, other=-inf)", "follows"),
        ("function", "torch.empty(n)", "torch.zeros(n)", "first value is stored"),
        ("function", "tl.exp(x)", "tl.exp2(x)", "e or 2"),
        ("function", "tl.maximum(a, b)", "tl.minimum(a, b)", "smaller"),
        ("comparison", 'm >= -float("inf")', 'm > -float("inf")', "must this condition be true?"),
        ("comparison", "cols < M", "cols < N", "which size"),
        ("comparison", "total >= 0", "total > 0", "where the two sides are equal"),
    ],
)
def test_the_question_fits_the_edit(kind, old, new, word):
    assert word in question_of(kind, old, new)


def test_a_flag_is_not_called_a_number_and_a_whole_sum_has_no_last_one():
    assert "number" not in question_of("constant", "keepdim=False", "keepdim=True")
    assert "flag" not in question_of(
        "constant", "sum(zip(a, b, strict=True)) * 2", "sum(zip(a, b, strict=True))"
    )
    assert question_of("constant", "2 - 2 * x", "1 - 2 * x") == kind_named("constant").question


def test_where_the_texts_decide_nothing_the_kind_s_own_question_is_asked():
    assert BY_KIND.keys() <= EDIT_KINDS.keys()
    for kind in EDIT_KINDS.values():
        assert question_of(kind.name, "one", "other").endswith(("?", ".")), kind.name
    assert question_of("comparison", "i <= n", "i < n") == kind_named("comparison").question
