"""One fact separates the cases in which an output is wrong from the others, or nothing is said."""

from __future__ import annotations

import sympy as sp
import torch

import flashlearn
from flashlearn.explaining.contrast import contrast
from flashlearn.lessons import find


def said(exercise: str, function, output: str) -> str:
    outcomes = flashlearn.check(exercise, function, demo=True).outcomes
    return contrast(find(exercise), outcomes, output)


def one_factor(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = sp.Max(m_a, m_b)
    small = sp.exp(-sp.Abs(m_a - m_b))
    return m, sp.exp(m_a - m) * l_a + sp.exp(m_b - m) * l_b, acc_a + small * acc_b


def test_the_larger_of_two_arguments_is_told_where_only_some_cases_tell():
    assert said("merge_partials", one_factor, "acc") == (
        "As far as the cases tell, acc is wrong exactly where m_b > m_a."
    )


def test_nothing_is_said_of_an_output_that_is_right_or_wrong_everywhere():
    assert said("merge_partials", one_factor, "m") == ""
    assert said("merge_partials", lambda *parts: (parts[0] + 1, 0, parts[2]), "l") == ""


def test_two_cases_that_tell_are_too_few():
    def matmul_traffic(M, N, K, B_M, B_N, B_K, e):
        return e * (M * K * sp.ceiling(N / B_N) + K * N * sp.ceiling(M / B_M)) + 4 * M * N

    assert said("matmul_traffic", matmul_traffic, "requested") == ""


def test_every_case_with_several_entries_is_told_apart_from_that_with_one():
    def softmax_jacobian(p):
        return sp.Matrix(p.rows, p.rows, lambda k, j: p[k] * (1 - p[j]) * (1 if k == j else 3))

    assert said("softmax_jacobian", softmax_jacobian, "J") == (
        "In the cases that were tried, your answer is wrong exactly where N > 1."
    )


def delta_of_the_last_tile(q, do, lse, tiles, alpha):
    worth, keys = 0, 0
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        share = p * (do @ v.T)
        worth, keys, delta = worth + share @ k, keys + p @ k, share.sum(1, keepdim=True)
    return alpha * (worth - delta * keys)


def test_nothing_is_said_where_two_facts_fit():
    exercise = find("dq_in_one_walk")
    outcomes = flashlearn.check("dq_in_one_walk", delta_of_the_last_tile, demo=True).outcomes
    tiles = "In the cases that were tried, your answer is wrong exactly where there are several tiles."
    assert contrast(exercise, outcomes, "dq") == tiles
    few = [outcome for outcome in outcomes if outcome.case.sizes["S_k"] in (2, 4, 9)]
    assert len(few) == 3 and contrast(exercise, few, "dq") == ""  # several tiles, or S_k > S_q
