"""A factor that may be missing in one of several lines: none of them is blamed alone."""

from __future__ import annotations

import pytest

from flashlearn.explaining import diagnose
from flashlearn.explaining.findings.edits import OneEdit
from flashlearn.judging.symbolic import run_symbolic
from flashlearn.lessons import find
from flashlearn.outcome import Finding
from tests.corpus import function_from_text

TRAFFIC = """
def matmul_traffic(M, N, K, B_M, B_N, B_K, e):
    down = -(-M // B_M)
    across = -(-N // B_N)
    of_a = across * M
    of_b = down * K * N
    return e * (of_a + of_b + M * N)
"""
ONE_PLACE = "def matmul_jacobian(X, W):\n    return sp.kronecker_product(sp.eye(X.rows), W.T) / 3\n"


def found(name: str, text: str) -> Finding:
    exercise, function = find(name), function_from_text(text)
    finding = diagnose(exercise, run_symbolic(exercise, function), function)
    assert isinstance(finding.kind, OneEdit)
    return finding


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRAFFIC, "of_a = across * M"),
        (TRAFFIC.replace("of_a = across * M", "rows = M").replace("of_a +", "across * rows +"), "rows = M"),
    ],
)
def test_a_factor_is_asked_for_beside_the_line_that_has_it_and_the_other_lines_are_said(text, line):
    finding = found("matmul_traffic", text)
    before, after = finding.place.line - 1, finding.place.line + 2
    assert finding.place.text.strip() == line and finding.kind.instead == (before, after)
    assert f"The same change in line {before} or {after} instead does as well." in finding.sentence
    assert "to which of them" in finding.next_step


def test_a_change_that_helps_in_one_line_alone_is_said_without_others():
    finding = found("matmul_jacobian", ONE_PLACE)
    assert not finding.kind.instead and "instead" not in finding.sentence
