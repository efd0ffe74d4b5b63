"""Edits of sympy answers and of integers: what refuses them quickly, and where they are tried besides."""

from __future__ import annotations

import pytest
import sympy as sp

import flashlearn
from flashlearn.explaining.edits import edits_of
from flashlearn.judging.symbolic.quick_refusal import QuickRefusal
from flashlearn.lessons import all_exercises


def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
    shared = size * buffers * block_k * (block_m + block_n)
    fits = [
        gpu.shared_per_sm // (shared + 1024),
        gpu.registers_per_sm // ((registers + 7) // 8 * 8 * 32 * warps),
        gpu.warps_per_sm // warps,
        gpu.blocks_per_sm,
    ]
    blocks = max(1, min(fits))
    return (
        sp.Rational(block_m * block_n, 32 * warps),
        shared,
        sp.Rational(blocks * warps, gpu.warps_per_sm),
    )


BLOCKS = budget.__code__.co_firstlineno + 8
"""The line with `max(1, …)`."""


def test_a_formula_of_integers_that_is_wrong_in_one_case_is_repaired_if_the_edit_is_right_in_fresh_ones_too():
    report = flashlearn.check("budget", budget, demo=True)
    assert report.finding.mistake == "one edit"
    assert report.finding.place.line == BLOCKS


@pytest.mark.parametrize(
    "exercise", [e for e in all_exercises().values() if e.explained.fresh], ids=lambda e: e.name
)
def test_the_right_answer_is_right_in_fresh_cases_and_each_mistake_is_wrong_in_one(exercise):
    def values(formula):
        return [tuple(formula(**exercise.inputs(c, c.generator()))) for c in exercise.explained.fresh]

    right = values(exercise.reference)
    assert all(values(mistake.wrong) != right for mistake in exercise.explained.mistakes.values())


def test_one_point_refuses_another_formula_and_not_another_spelling():
    x, y = sp.symbols("x y", positive=True)
    quick = QuickRefusal({"f": sp.exp(x) * y, "g": x + y}, {"x": x, "y": y})
    assert not quick.differs("f", y * sp.exp(2 * x) / sp.exp(x))
    assert quick.differs("f", y * sp.exp(2 * x))
    assert quick.differs("g", sp.Symbol("z"))
    assert quick.differs("g", x - y)


def test_a_list_is_no_factor_and_an_array_no_limit():
    text = (
        "def f(P, V, S):\n    parts = [S, S]\n    j = sp.Symbol('j')\n"
        "    return sp.Sum(P[j] * V[j], (j, 0, S - 1)) * min(parts)\n"
    )
    new = {edit.new for edit in edits_of(text)}
    assert "V" in new and not any("* parts" in n or "(j, 0, P" in n or n == "P - 1" for n in new)


def named(exercise, function):
    report = flashlearn.check(exercise, function, demo=True)
    assert not report.passed
    return report.finding


def test_a_mistake_in_each_output_is_repaired_by_two_edits_that_are_right_together():
    def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = sp.Max(m_a, m_b)
        w_a, w_b = sp.exp(m_a - m), sp.exp(m_b - m)
        return m, w_a * l_a + w_b * l_a, w_a * acc_a - w_b * acc_b

    sentence = named("merge_partials", merge_partials).sentence
    assert "acc is right in every case" in sentence and "l is right in every case" in sentence


def test_what_a_declared_mistake_leaves_open_is_repaired_by_an_edit():
    def heaviest_first(pid, blocks, heads):
        return blocks - pid // heads, pid % blocks

    finding = named("heaviest_first", heaviest_first)
    assert finding.names == ("blocks counted from 1", "one edit") and not finding.partial


def test_an_index_beyond_the_range_is_that_of_the_point_shown_and_the_edit_is_named():
    def delta_identity(P, V, dO, i, d, S_k, D):
        j = sp.Symbol("j", integer=True)
        o_id = sp.Sum(P[i, j] * V[j + 1, d], (j, 0, S_k - 1))
        return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))

    report = flashlearn.check("delta_identity", delta_identity, demo=True)
    assert report.finding.mistake == "index range" and "with `j` all" in report.finding.sentence
    message = report.outcomes[0].message
    read, at = message.split("reads V[")[1].split("]")[0].split(", "), message.split(", which")[0]
    assert f"d = {read[1]}" in at and f"S_k = {read[0]}" in at


def test_a_formula_that_crashes_in_one_case_is_repaired_as_well():
    def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = sp.Min(m_a, m_b)
        w_a, w_b = sp.exp(m_a - m), sp.exp(m_b - m)
        return m, w_a * l_a + w_b * l_b, w_a * acc_a + w_b * acc_b

    assert "sp.Max(m_a, m_b)" in named("merge_partials", merge_partials).sentence


def test_a_sum_with_nan_is_not_said_to_be_one_of_a_number_and_a_matrix():
    def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = m_a + m_b
        w_a, w_b = sp.exp(m_a - m), sp.exp(m_b - m)
        return m, w_a * l_a + w_b * l_b, w_a * acc_a + w_b * acc_b

    report = flashlearn.check("merge_partials", merge_partials, demo=True)
    messages = " ".join(outcome.message for outcome in report.outcomes)
    assert "sympy's nan" in messages and "A number and a matrix" not in messages
