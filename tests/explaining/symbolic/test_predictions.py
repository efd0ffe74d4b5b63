"""Two mistakes at once in a symbolic answer, patterns over several outputs, and what is not named."""

from __future__ import annotations

import pytest
import sympy as sp
import torch

import flashlearn
from flashlearn.outcome import Finding


def found(exercise: str, function) -> Finding | None:
    report = flashlearn.check(exercise, function, demo=True)
    assert not report.passed
    return report.finding


def finding(exercise: str, function) -> str | None:
    told = found(exercise, function)
    return told.mistake if told is not None else None


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


def test_outputs_are_told_one_after_the_other_where_they_differ():
    def dq_dk(q, k, ds, alpha):
        return -alpha * ds * k, alpha * ds.T * q + sp.ones(*k.shape)

    told = found("attention_dq_dk", dq_dk)
    assert told.mistake == "sign + constant offset"
    assert told.sentence.startswith("dq: ")
    assert "have the wrong sign. dk: every entry is 1 too large." in told.sentence


def test_a_pattern_beside_an_unknown_fault_is_told_by_the_edits_alone():
    def dq_dk(q, k, ds, alpha):
        return -alpha * ds * k, alpha * ds.T * q + k.multiply_elementwise(k)

    assert finding("attention_dq_dk", dq_dk) == "one edit"


def test_a_declared_mistake_beside_an_unknown_fault_is_told_with_the_reservation():
    def dq_dk(q, k, ds, alpha):
        return ds * k, (alpha * ds.T * q).applyfunc(lambda entry: entry**2 + 3 * entry + 1)

    told = found("attention_dq_dk", dq_dk)
    assert told.mistake == "alpha forgotten in dQ" and told.partial
    assert told.sentence.endswith("The output `dk` is wrong too.")


def test_a_factor_that_grows_with_a_size_is_told_as_the_size():
    told = found("matmul_vjp", lambda X, W, dY: (dY * W.T / dY.cols, X.T * dY))
    assert told.mistake == "factor" and told.sentence.endswith("1/N times what it should be.")


def test_a_number_is_the_argument_that_it_stands_for_in_the_other_cases():
    told = found("attention_dq_dk", lambda q, k, ds, alpha: (alpha * ds * k, ds.T * q / alpha))
    assert told.mistake == "factor" and "alpha is missing twice, as if you had divided" in told.sentence


def test_a_factor_that_is_1_where_a_size_is_1_is_told_as_the_size():
    told = found(
        "attention_dq_dk", lambda q, k, ds, alpha: (alpha * ds * k / sp.sqrt(q.cols), alpha * ds.T * q)
    )
    assert told.mistake == "factor" and "1/√D times" in told.sentence


def test_factors_that_nothing_explains_are_no_pattern():
    def vjp(X, W, dY):
        return dY * W.T * (X.rows + 3), X.T * dY

    assert finding("matmul_vjp", vjp) == "one edit"


def test_two_arguments_taken_for_each_other_are_named():
    def softmax_vjp(p, dp):
        return dp.multiply_elementwise(p - sp.ones(p.rows, 1) * p.dot(dp))

    told = found("softmax_vjp", softmax_vjp)
    assert told.mistake == "arguments exchanged" and "p and dp" in told.sentence


def test_faults_of_one_formula_that_reach_several_outputs_are_named_together():
    def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
        shared = (block_m + block_n) * block_k * size
        blocks = min(
            gpu.blocks_per_sm,
            gpu.warps_per_sm // warps,
            gpu.registers_per_sm // (registers * 32 * warps),
            gpu.shared_per_sm // (shared + 1024),
        )
        return block_m * block_n / (32 * warps), shared, blocks * warps / gpu.warps_per_sm

    assert finding("budget", budget) == "buffers forgotten + registers not rounded"


def test_a_mistake_is_told_beside_a_crash_in_the_other_cases():
    def merge_partials(m_a, l_a, acc_a, m_b, l_b, acc_b):
        m = m_a if m_a > m_b else m_b
        return m, sp.exp(m_a - m) * l_a + sp.exp(m_b - m) * l_b, acc_a + acc_b

    told = found("merge_partials", merge_partials)
    assert told.mistake == "crashed + acc not rescaled"
    assert (
        "truth value" in told.sentence
        and "(2) Some cases run to the end, with wrong results." in told.sentence
    )


def test_a_plain_mean_and_a_sign_are_named_together():
    def lse_gradient(p, dp, dlse):
        mean = sum(dp) / p.rows
        return sp.Matrix([p[i] * (dp[i] - mean - dlse) for i in range(p.rows)])

    assert finding("lse_gradient", lse_gradient) == "the sign of dLSE + the plain mean for delta"


def test_an_even_share_of_dlse_is_named():
    def lse_gradient(p, dp, dlse):
        return (
            p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp)) + sp.ones(p.rows, 1) * dlse / p.rows
        )

    assert finding("lse_gradient", lse_gradient) == "the same share of dLSE for every score"


def test_lanes_that_only_the_loads_count_are_masked_lanes():
    def matmul_traffic(M, N, K, B_M, B_N, B_K, e):
        programs, steps = sp.ceiling(M / B_M) * sp.ceiling(N / B_N), sp.ceiling(K / B_K)
        return e * (programs * steps * (B_M + B_N) * B_K + M * N)

    assert finding("matmul_traffic", matmul_traffic) == "masked lanes counted"


def test_registers_rounded_down_are_named():
    def budget(block_m, block_n, block_k, size, buffers, warps, registers, gpu):
        shared = buffers * size * block_k * (block_m + block_n)
        blocks = min(
            gpu.warps_per_sm // warps,
            gpu.blocks_per_sm,
            gpu.registers_per_sm // (registers // 8 * 8 * 32 * warps),
            gpu.shared_per_sm // (shared + 1024),
        )
        return block_m * block_n / (32 * warps), shared, blocks * warps / gpu.warps_per_sm

    assert finding("budget", budget) == "registers rounded down"


def test_an_entry_with_one_share_alone_is_named():
    def softmax_jacobian(p):
        return sp.Matrix(p.rows, p.rows, lambda k, j: p[k] * (1 - p[k]) if k == j else -p[k])

    assert finding("softmax_jacobian", softmax_jacobian) == "one share off the diagonal"


@pytest.mark.parametrize(
    ("replaced", "name"),
    [
        ("keys", "the sum of P K overwritten"),
        ("worth", "the sum of P dP K overwritten"),
        ("delta", "delta overwritten"),
    ],
)
def test_a_sum_that_each_tile_replaces_is_named(replaced, name):
    def dq_in_one_walk(q, do, lse, tiles, alpha):
        sums = {"keys": 0, "worth": 0, "delta": 0}
        for k, v in tiles:
            p = torch.exp(alpha * q @ k.T - lse[:, None])
            share = p * (do @ v.T)
            new = {"keys": p @ k, "worth": share @ k, "delta": share.sum(1, keepdim=True)}
            sums = {key: new[key] + (0 if key == replaced else sums[key]) for key in sums}
        return alpha * (sums["worth"] - sums["delta"] * sums["keys"])

    assert finding("dq_in_one_walk", dq_in_one_walk) == name


def test_dlse_that_passes_through_the_softmax_is_named():
    def lse_gradient(p, dp, dlse):
        both = dp + dlse * p
        return p.multiply_elementwise(both - sp.ones(p.rows, 1) * p.dot(both))

    assert finding("lse_gradient", lse_gradient) == "dLSE through the softmax"


def test_one_bound_of_a_mask_aligned_top_left_is_named():
    def split_loops(first, block_q, block_k, S_q, S_k):
        end = max(0, min(S_k, first + block_q + S_k - S_q))
        return max(0, min(S_k, first + 1)) // block_k * block_k, end

    assert finding("split_loops", split_loops) == "whole aligned top-left"


def test_outputs_in_each_others_place_are_told_with_the_one_that_is_transposed():
    told = found("matmul_vjp", lambda X, W, dY: (dY.T * X, dY * W.T))
    assert told.mistake == "swapped" and "(2) dW is transposed." in told.sentence


def test_an_output_in_the_others_place_is_told_beside_one_that_is_wrong_even_there():
    def attention_dv_dp(p, v, do):
        return (do * v.T).multiply_elementwise(p), p.T * do

    told = found("attention_dv_dp", attention_dv_dp)
    assert "What you return as dp is the right dv" in told.sentence
    assert "What you return as dv is not the right dp" in told.sentence


def test_two_outputs_of_which_one_is_transposed_in_its_own_place_are_not_swapped():
    assert finding("matmul_vjp", lambda X, W, dY: (dY * W.T, dY.T * X)) != "swapped"
