"""Two mistakes at once in a symbolic answer, patterns over several outputs, and what is not named."""

from __future__ import annotations

import sympy as sp

import flashlearn


def finding(exercise: str, function) -> str | None:
    report = flashlearn.check(exercise, function, demo=True)
    assert not report.passed
    return report.finding.mistake if report.finding is not None else None


def test_two_factors_of_one_output_are_named_together():
    def matmul_traffic(M, N, K, B_M, B_N, B_K, e):
        return M * K * sp.ceiling(N / B_N) + K * N * sp.ceiling(M / B_M)

    assert finding("matmul_traffic", matmul_traffic) == "elements, not bytes + C left out"


def test_a_mistake_in_each_output_is_named_with_the_other():
    def centred(dY):
        rows = [sum(dY.row(i)) for i in range(dY.rows)]
        dX = sp.Matrix(dY.rows, dY.cols, lambda i, j: dY[i, j] - rows[i])
        return dX, sp.ones(1, dY.rows) * dY / dY.rows

    assert finding("reduce_and_broadcast_vjp", centred) == "1/N forgotten + db averaged"


def test_one_sign_for_both_outputs_is_one_finding():
    assert finding("attention_dq_dk", lambda q, k, ds, alpha: (-alpha * ds * k, -alpha * ds.T * q)) == "sign"


def test_the_sign_is_believed_where_a_case_holds_ones_alone():
    def jacobian(X, W):
        return -sp.kronecker_product(sp.eye(X.rows), W.T)

    assert finding("matmul_jacobian", jacobian) == "sign"


def test_a_wrong_shape_in_some_cases_is_a_wrong_shape():
    def centred(dY):
        means = [sum(dY.row(i)) / dY.cols for i in range(dY.rows)]
        dX = sp.Matrix(dY.rows, dY.cols, lambda i, j: dY[i, j] - means[i])
        return dX, sp.Matrix([[sum(dY.row(i)) for i in range(dY.rows)]])

    assert finding("reduce_and_broadcast_vjp", centred) == "wrong shape"


def test_different_faults_without_a_name_stay_unnamed():
    def dq_dk(q, k, ds, alpha):
        return -alpha * ds * k, alpha * ds.T * q + sp.ones(*k.shape)

    assert finding("attention_dq_dk", dq_dk) is None
