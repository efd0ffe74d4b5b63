"""Symbolic answers of lesson 02, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "softmax_jacobian",
    "p is a column, so `p.T * p` is a 1 × 1 matrix and sympy refuses to subtract it from N × N for every N"
    " > 1. The outer product of a column is p * p.T.",
    "crashed",
    "⟨p, p⟩ in place of p pᵀ",
    title="column treated as a row",
)(
    written("""
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    D = sp.diag(*p)
    return D - p.T * p
""")
)

wrong(
    "softmax_jacobian",
    "For k ≠ j the entry is −p_k p_j; here it is +p_k p_j. A larger score of another key lowers a share; "
    "the rows must sum to zero, and do not for any N > 1.",
    "sign",
    title="off the diagonal without the minus",
)(
    written("""
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    def entry(k, j):
        if k == j:
            return p[k] * (1 - p[k])
        return p[k] * p[j]

    return sp.Matrix(p.rows, p.rows, entry)
""")
)

wrong(
    "softmax_vjp",
    "The inner product is subtracted from p ∘ dp with weight 1: it has to be multiplied by p_j too, ds = p"
    " ∘ (dp − ⟨p, dp⟩). Wrong for every row of more than one entry with a mean that is not zero.",
    "p on dp alone",
    title="mean subtracted without its share",
)(
    written("""
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    scaling = p.multiply_elementwise(dp)
    competition = sp.ones(p.rows, 1) * p.dot(dp)
    return scaling - competition
""")
)

wrong(
    "softmax_vjp",
    "`sum(dp) / N` is the plain mean; the mean under p, Σ p_k dp_k, is wanted. They agree only if all "
    "shares are equal or all dp are.",
    "plain mean of dp",
    title="plain average instead of the mean under p",
)(
    written("""
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    N = p.rows
    average = sum(dp) / sp.Integer(N)
    return sp.Matrix([p[j] * (dp[j] - average) for j in range(N)])
""")
)
