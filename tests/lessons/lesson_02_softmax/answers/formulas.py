"""Lesson 02: answers to `softmax_jacobian`, `softmax_vjp` and `log_softmax_vjp`."""

from __future__ import annotations

import sympy as sp

from tests.corpus import right, wrong

# softmax_jacobian ----------------------------------------------------------------------------------


@right("softmax_jacobian", "a KroneckerDelta in every entry")
def jacobian_by_kronecker_delta(p):
    return sp.Matrix(p.rows, p.rows, lambda k, j: p[k] * (sp.KroneckerDelta(k, j) - p[j]))


@right("softmax_jacobian", "diag(p) (I − 1 pᵀ), factored")
def jacobian_factored(p):
    n = p.rows
    return sp.diag(*p) * (sp.eye(n) - sp.ones(n, 1) * p.T)


@wrong("softmax_jacobian", "Off the diagonal the sign is wrong.", "sign", "plus p pᵀ")
def jacobian_with_a_plus(p):
    n = p.rows
    J = sp.zeros(n, n)
    for k in range(n):
        for j in range(n):
            J[k, j] = p[k] * (1 - p[k]) if k == j else p[k] * p[j]
    return J


@wrong(
    "softmax_jacobian",
    "Only the diagonal is there; a score moves the other probabilities, too.",
    "only the diagonal",
    "missing off-diagonal",
)
def jacobian_as_for_a_sigmoid(p):
    return sp.diag(*[q * (1 - q) for q in p])


@wrong("softmax_jacobian", "The diagonal's formula stands everywhere.", "p_j (1 − p_k) everywhere")
def jacobian_without_cases(p):
    return p * (sp.ones(p.rows, 1) - p).T


@wrong(
    "softmax_jacobian", "p.T * p is one number; p * p.T is the matrix.", "⟨p, p⟩ in place of p pᵀ", "crashed"
)
def jacobian_with_the_inner_product(p):
    inner = (p.T * p)[0, 0]
    return sp.diag(*p).applyfunc(lambda e: e - inner)


# softmax_vjp ---------------------------------------------------------------------------------------


@right("softmax_vjp", "the transposed Jacobian times dp")
def vjp_by_the_matrix(p, dp):
    return (sp.diag(*p) - p * p.T).T * dp


@right("softmax_vjp", "a list, entry by entry")
def vjp_as_a_list(p, dp):
    mean = sum(a * b for a, b in zip(p, dp, strict=True))
    return [a * b - a * mean for a, b in zip(p, dp, strict=True)]


@wrong("softmax_vjp", "The mean of dp is taken under p, not over the entries.", "plain mean of dp")
def vjp_with_numpy_s_mean(p, dp):
    mean = sum(dp) / len(dp)
    return sp.Matrix([p[i] * (dp[i] - mean) for i in range(len(p))])


@wrong("softmax_vjp", "Only the diagonal of the Jacobian was used.", "only the diagonal of J")
def vjp_entry_by_entry(p, dp):
    return p.multiply_elementwise(sp.ones(p.rows, 1) - p).multiply_elementwise(dp)


@wrong(
    "softmax_vjp", "The inner product has to be subtracted before the product with p.", "p in front forgotten"
)
def vjp_without_p_in_front(p, dp):
    return dp - (p.T * dp)[0] * sp.ones(p.rows, 1)


@wrong("softmax_vjp", "A row came back where a column was asked for.", "wrong shape", "transposed")
def vjp_as_a_row(p, dp):
    return (p.multiply_elementwise(dp) - p.dot(dp) * p).T


# log_softmax_vjp -----------------------------------------------------------------------------------


@right("log_softmax_vjp", "the transposed Jacobian of the logarithms")
def log_vjp_by_the_matrix(p, dlog):
    J = sp.eye(p.rows) - sp.ones(p.rows, 1) * p.T
    return J.T * dlog


@right("log_softmax_vjp", "through softmax, with dp = dlog / p")
def log_vjp_through_softmax(p, dlog):
    dp = sp.Matrix([d / q for d, q in zip(dlog, p, strict=True)])
    return p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp))


@right("log_softmax_vjp", "a list, entry by entry")
def log_vjp_as_a_list(p, dlog):
    total = sum(dlog)
    return [d - q * total for d, q in zip(dlog, p, strict=True)]


@wrong("log_softmax_vjp", "That is the gradient through softmax itself.", "softmax's own formula")
def log_vjp_by_softmax_s_matrix(p, dlog):
    return (sp.diag(*p) - p * p.T) * dlog


@wrong("log_softmax_vjp", "The Jacobian has to be transposed.", "J in place of its transpose")
def log_vjp_not_transposed(p, dlog):
    return (sp.eye(p.rows) - sp.ones(p.rows, 1) * p.T) * dlog


@wrong("log_softmax_vjp", "The sum of dlog is not weighted by p.", "weighted by p")
def log_vjp_with_an_inner_product(p, dlog):
    return sp.Matrix([dlog[j] - p[j] * (p.T * dlog)[0] for j in range(p.rows)])


@wrong("log_softmax_vjp", "The share p_j in front of the sum is missing.", "the sum without p")
def log_vjp_without_the_share(p, dlog):
    return sp.Matrix([d - sum(dlog) for d in dlog])


@wrong("log_softmax_vjp", "A row came back where a column was asked for.", "wrong shape", "transposed")
def log_vjp_as_a_row(p, dlog):
    return (dlog - p * sum(dlog)).T
