"""Edits of formulas see names of loops, comprehensions and lambdas, einsum, matrix products and crashes."""

import sympy as sp
import torch

import flashlearn
from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.naturalness import Naturalness, naturalness


def finding(exercise, function):
    report = flashlearn.check(exercise, function, demo=True)
    assert not report.passed
    return report.finding


def news(text):
    return {edit.new for edit in edits_of(text)}


def test_an_index_of_a_comprehension_may_be_meant_even_where_nothing_binds_the_one_that_is_written():
    def matmul_vjp(X, W, dY):
        dX = sp.Matrix(X.rows, X.cols, lambda a, b: sum(dY[a, j] * W[b, j] for j in range(W.cols)))
        dW = sp.Matrix(W.rows, W.cols, lambda a, b: sum(X[i, a] * dY[j, b] for i in range(X.rows)))  # noqa: F821
        return dX, dW

    assert "`dY[j, b]`; with `dY[i, b]` all 5" in finding("matmul_vjp", matmul_vjp).sentence


def test_an_entry_of_a_matrix_at_the_indices_around_a_term_may_be_missing():
    def matmul_vjp(X, W, dY):
        dX = sp.Matrix(X.rows, X.cols, lambda a, b: sum(dY[a, j] * W[b, j] for j in range(W.cols)))
        dW = sp.Matrix(W.rows, W.cols, lambda a, b: sum(X[i, a] for i in range(X.rows)))
        return dX, dW

    assert "with `X[i, a] * dY[i, b]` all 5" in finding("matmul_vjp", matmul_vjp).sentence


def test_an_operand_of_a_matrix_product_may_lack_a_factor():
    def dq_in_one_walk(q, do, lse, tiles, alpha):
        acc, keys, delta = 0, 0, 0
        for k, v in tiles:
            p = torch.exp(alpha * q @ k.T - lse[:, None])
            dp = do @ v.T
            acc = acc + p @ k
            keys = keys + p @ k
            delta = delta + (p * dp).sum(1, keepdim=True)
        return alpha * (acc - delta * keys)

    assert "with `(p * dp) @ k`" in finding("dq_in_one_walk", dq_in_one_walk).sentence


def test_a_diagonal_matrix_of_a_column_is_a_factor():
    def softmax_jacobian(p):
        n = p.rows
        return sp.eye(n) - sp.ones(n, 1) * p.T

    assert "with `sp.diag(*p) * (" in finding("softmax_jacobian", softmax_jacobian).sentence


def test_operands_and_letters_of_an_einsum_are_exchanged():
    text = 'def f(a, b):\n    return torch.einsum("ij,id->jd", a, b)\n'
    assert {"b, a", '"ij,id->dj"', '"ji,id->jd"'} <= news(text)


def test_a_call_that_changes_a_tensor_in_place_has_a_form_that_does_not():
    assert "p.mul(d.sub(x))" in news("def f(p, d, x):\n    s = p.mul_(d.sub_(x))\n    return s, p\n")


def test_new_memory_has_no_factors_but_may_need_the_dtype_of_a_tensor():
    found = news("def f(q):\n    s = torch.zeros(q.shape[0], 1)\n    return s + q\n")
    assert "torch.zeros(q.shape[0], 1, dtype=q.dtype)" in found
    assert not any(new.startswith("torch.zeros(q.shape[0], 1) ") for new in found)


def test_a_quotient_is_taken_of_the_whole_product():
    assert "a // (b * c)" in news("def f(a, b, c):\n    return a // b * c\n")


def test_values_that_get_each_others_names_are_no_natural_slip():
    text = "def f(x, y):\n    a, b = x, y\n    return g(b, a)\n"
    swaps = {e.line: e for e in edits_of(text) if e.kind.name == "argument order"}
    assert naturalness(text, swaps[2]) is Naturalness.UNUSUAL
    assert naturalness(text, swaps[3]) is Naturalness.NATURAL


def test_after_a_crash_of_a_formula_the_edit_is_named_that_makes_it_right():
    def attention_backward(q, k, v, do, alpha):
        p = torch.softmax(alpha * (q @ q.T), dim=-1)
        dp = do @ v.T
        ds = alpha * p * (dp - (p * dp).sum(-1, keepdim=True))
        return ds @ k, ds.T @ q, p.T @ do

    found = finding("attention_backward", attention_backward)
    assert "`q @ q.T`; with `q @ k.T` all 10" in found.sentence and "q @ q.T" in found.place.text


def test_a_declared_mistake_shows_its_line_by_the_edit_that_takes_it_back():
    def log_softmax_vjp(p, dlog):
        total = sum(dlog)
        return [d + q * total for d, q in zip(dlog, p, strict=True)]

    found = finding("log_softmax_vjp", log_softmax_vjp)
    assert found.names == ("plus p",) and "d + q * total" in found.place.text
    assert "with `d - q * total` all 5 failing cases pass" in found.sentence


def test_a_slip_of_one_sign_takes_the_place_of_a_mistake_for_which_only_nan_speaks():
    def attention_backward(q, k, v, do, alpha):
        s = alpha * q @ k.T
        e = torch.exp(s + s.amax(-1, keepdim=True))
        p = e / e.sum(-1, keepdim=True)
        dp = do @ v.T
        ds = alpha * p * (dp - (p * dp).sum(-1, keepdim=True))
        return ds @ k, ds.T @ q, p.T @ do

    sentence = finding("attention_backward", attention_backward).sentence
    assert "no maximum subtracted" not in sentence and "`s - s.amax(-1, keepdim=True)`" in sentence


def test_a_mistake_in_integers_must_show_in_the_fresh_cases_too():
    def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
        threads = 32 * warps
        shared = size * buffers * block_k * (block_m + block_n)
        held = -(-registers // 8) * 8
        resident = min(
            gpu.shared_per_sm // (shared - 1024),
            gpu.registers_per_sm // (held * threads),
            gpu.warps_per_sm // warps,
            gpu.blocks_per_sm,
        )
        return (
            sp.Rational(block_m * block_n, threads),
            shared,
            sp.Rational(resident * warps, gpu.warps_per_sm),
        )

    found = finding("budget", budget)
    assert "no shared memory reserved" not in found.names and "`shared + 1024`" in found.sentence


def test_a_formula_is_rounded_up_without_triton_which_takes_no_symbols():
    ups = {
        edit.new for edit in edits_of("def tiles(N, B):\n    return N // B\n") if edit.kind.name == "round up"
    }
    assert ups == {"-(-N // B)"}
