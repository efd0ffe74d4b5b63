"""Symbolic answers of lesson 03, written without a look at the mistakes that it declares."""

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "attention_dv_dp",
    "Both gradients are right, but the pair is returned as (dP, dV); asked for is (dV, dP). The shapes "
    "[S_q, S_k] and [S_k, D] are exchanged.",
    "swapped",
    "wrong shape",
    title="pair returned in the wrong order",
)(
    written("""
def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    # Y = X W with X = P and W = V: dX = dY W^T, dW = X^T dY
    dp = do * v.T
    dv = p.T * do
    return dp, dv
""")
)

wrong(
    "attention_dv_dp",
    "`p * do` multiplies [S_q, S_k] by [S_q, D]: the shapes do not fit unless S_q = S_k, and then it sums "
    "over keys. A value collects from the queries: dV = p.T * do.",
    "crashed",
    "wrong shape",
    title="P not transposed in dV",
)(
    written("""
def attention_dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    dV = p * do
    dP = do * v.T
    return dV, dP
""")
)

wrong(
    "delta_identity",
    "sp.Sum includes both ends: the last key is S_k − 1 and the last component D − 1. With (j, 0, S_k) and"
    " (d, 0, D) a key and a component are added that do not exist.",
    "one term too many",
    "index range",
    title="upper ends of both sums one too far",
)(
    written("""
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    key = sp.Symbol("key", integer=True)
    o_id = sp.Sum(P[i, key] * V[key, d], (key, 0, S_k))
    delta_i = sp.Sum(dO[i, d] * o_id, (d, 0, D))
    return o_id, delta_i
""")
)

wrong(
    "delta_identity",
    "o_id still contains dO[i, d], which does not depend on the keys and had to be taken out; then dO is "
    "multiplied in again, so delta_i has dO twice.",
    "dO inside O",
    title="dO left inside the inner sum",
)(
    written("""
def delta_identity(P, V, dO, i, d, S_k, D) -> tuple[sp.Expr, sp.Expr]:
    n = sp.symbols("n", integer=True)
    o_id = sp.Sum(P[i, n] * dO[i, d] * V[n, d], (n, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))
""")
)

wrong(
    "lse_gradient",
    "`delta + dlse` is subtracted, so the LSE path comes in with a minus: it should be delta − dlse in the"
    " bracket. Wrong for every dlse ≠ 0.",
    "the sign of dLSE",
    title="LSE gradient with the wrong sign",
)(
    written("""
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    delta = p.dot(dp) + dlse
    return p.multiply_elementwise(dp - delta * sp.ones(p.rows, 1))
""")
)

wrong(
    "lse_gradient",
    "The second path adds dlse to each entry; the derivative of LSE by score j is p_j, so it must be p_j ·"
    " dlse. Wrong for N > 1 and dlse ≠ 0 (the row would sum to N · dlse).",
    "dLSE without p",
    title="every score gets the whole dlse",
)(
    written("""
def lse_gradient(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    n = p.rows
    through_p = p.multiply_elementwise(dp - sp.ones(n, 1) * p.dot(dp))
    through_lse = sp.ones(n, 1) * dlse
    return through_p + through_lse
""")
)

wrong(
    "attention_dq_dk",
    "`q_scaled` already contains alpha, and dK is multiplied by alpha again: alpha² in dK. Use q, or leave"
    " the second alpha out.",
    "alpha twice in dK",
    "factor",
    title="alpha twice in dK",
)(
    written("""
def attention_dq_dk(
    q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr
) -> tuple[sp.Matrix, sp.Matrix]:
    q_scaled = alpha * q  # S = q_scaled * k.T
    dq = alpha * ds * k
    dk = alpha * ds.T * q_scaled
    return dq, dk
""")
)

wrong(
    "attention_dq_dk",
    "Two mistakes: dQ lacks alpha; and what is returned as dK is the gradient of K.T, alpha · q.T · ds of "
    "shape [D, S_k]. It has to be transposed, alpha · ds.T · q.",
    "alpha forgotten in dQ + dK transposed",
    "factor + dK transposed",
    "alpha forgotten in dQ + wrong shape",
    title="gradient of the transposed keys and no alpha in dQ",
)(
    written("""
def attention_dq_dk(
    q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr
) -> tuple[sp.Matrix, sp.Matrix]:
    X, W = q, k.T
    dX = ds * W.T
    dW = X.T * (alpha * ds)
    return dX, dW
""")
)
