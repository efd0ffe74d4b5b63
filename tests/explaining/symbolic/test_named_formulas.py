"""Formulas with a mistake of their own in lessons 02, 04 and 05: the exercise says which."""

from __future__ import annotations

import pytest

from flashlearn.explaining import diagnose
from flashlearn.judging.symbolic import run_symbolic
from flashlearn.lessons import find
from tests.corpus import function_from_text

MERGE = """
def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    w_a, w_b = {base} ** (m_a - m) * l_a, {base} ** (m_b - m) * l_b
    return m, w_a + w_b, w_a * acc_a + w_b * acc_b
"""

TRAFFIC = """
def matmul_traffic(M, N, K, B_M, B_N, B_K, e):
    a, b = M * K * N / B_N, K * N * sp.ceiling(M / B_M)
    return e * (a + b + M * N{times})
"""

ANSWERS = {
    "diagonal": (
        "log_softmax_vjp",
        "def log_softmax_vjp(p, dlog):\n"
        "    return sp.Matrix([dlog[j] - p[j] * dlog[j] for j in range(p.rows)])\n",
        {"only the diagonal of J"},
    ),
    "log softmax": (
        "softmax_vjp",
        "def softmax_vjp(p, dp):\n    return dp - p * sum(dp)\n",
        {"log softmax's own formula"},
    ),
    "acc as a mean": ("merge_partials", MERGE.format(base="sp.E"), {"acc weighted with l"}),
    "and base 2": ("merge_partials", MERGE.format(base="2"), {"powers of two", "acc weighted with l"}),
    "one ceiling": ("matmul_traffic", TRAFFIC.format(times=""), {"sizes need not divide"}),
    "and C in each step": (
        "matmul_traffic",
        TRAFFIC.format(times=" * sp.ceiling(K / B_K)"),
        {"sizes need not divide", "C once per step"},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_mistake_of_a_formula_is_named(name):
    exercise, text, names = ANSWERS[name]
    exercise, function = find(exercise), function_from_text(text)
    found = diagnose(exercise, run_symbolic(exercise, function), function)
    assert set(found.names) == names, found.sentence
