"""What a launcher does with arguments that do not fit is reported beside a case that fails."""

from __future__ import annotations

import flashlearn
from flashlearn.kernels import attention, flash_forward


def half_careful(q, k, v, alpha=None):
    if q.dtype != k.dtype:
        raise ValueError(f"q is {q.dtype} and k is {k.dtype}")
    return flash_forward.flash_forward(q, k, v, alpha or q.shape[-1] ** -0.5)


def careful(q, k, v, alpha=None):
    return attention.strided_inputs(q, k, v, alpha or q.shape[-1] ** -0.5)


def test_a_refusal_of_the_wrong_kind_is_told_with_the_case_that_fails():
    report = flashlearn.check("strided_inputs", half_careful, demo=True)
    text = " ".join(str(report).split())
    assert report.finding.names == ("alpha = 0 taken for none",)
    assert "Besides, given q in float16 with k and v in float32, it raises ValueError" in text
    assert text.count("it raises ValueError") == 1 and "very case passes" not in text


def test_nothing_is_added_where_what_does_not_fit_is_refused():
    report = flashlearn.check("strided_inputs", careful, demo=True)
    assert report.finding.names == ("alpha = 0 taken for none",)
    assert "Besides" not in str(report)
