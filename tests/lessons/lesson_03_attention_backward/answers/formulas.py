"""Lesson 03: answers to the four symbolic exercises and to `attention_backward`."""

from __future__ import annotations

import sympy as sp
import torch

from tests.corpus import edited, right, written, wrong

# attention_dv_dp -----------------------------------------------------------------------------------


@right("attention_dv_dp", "sums over entries")
def dv_dp_by_entries(p, v, do):
    dv = sp.zeros(*v.shape)
    dp = sp.zeros(*p.shape)
    for i in range(p.rows):
        for j in range(p.cols):
            dv[j, :] += p[i, j] * do[i, :]
            dp[i, j] = do[i, :].dot(v[j, :])
    return dv, dp


@wrong("attention_dv_dp", "You went on through P: dP itself has no factor P.", "dP multiplied by P")
def dv_dp_through_p(p, v, do):
    dv = p.T * do
    dp = sp.matrix_multiply_elementwise(p, do * v.T)
    return dv, dp


@wrong("attention_dv_dp", "dV is averaged over the queries; gradients add.", "dV averaged over the queries")
def dv_dp_averaged(p, v, do):
    mean = sp.zeros(*v.shape)
    for i in range(p.rows):
        mean += p[i, :].T * do[i, :] / p.rows
    return mean, do * v.T


@wrong(
    "attention_dv_dp", "P is not turned: its rows are queries, dV's rows are keys.", "wrong shape", "crashed"
)
def dv_dp_with_p_as_it_is(p, v, do):
    return p * do, do * v.T


@wrong(
    "attention_dv_dp", "dV and dP are in each other's place.", "swapped", "outputs exchanged", "wrong shape"
)
def dp_first(p, v, do):
    return do * v.T, p.T * do


@wrong("attention_dv_dp", "O stands where dO belongs, in both.", "O in place of dO")
def dv_dp_from_o(p, v, do):
    o = p * v
    return p.T * o, o * v.T


# delta_identity ------------------------------------------------------------------------------------


@right("delta_identity", "one double sum, and a dummy index of its own for d")
def identity_as_a_double_sum(P, V, dO, i, d, S_k, D):
    j, c = sp.symbols("j c", integer=True)
    o_id = sp.Sum(V[j, d] * P[i, j], (j, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, c] * P[i, j] * V[j, c], (j, 0, S_k - 1), (c, 0, D - 1))


@wrong("delta_identity", "sympy's sums include their upper end.", "one term too many", "index range")
def identity_up_to_the_sizes(P, V, dO, i, d, S_k, D):
    n = sp.Symbol("n", integer=True)
    o_id = sp.summation(P[i, n] * V[n, d], (n, 0, S_k))
    return o_id, sp.Sum(o_id * dO[i, d], (d, 0, D))


@wrong("delta_identity", "Counting starts at 0, for keys and components.", "counted from one", "index range")
def identity_counted_from_one(P, V, dO, i, d, S_k, D):
    key = sp.Symbol("key", integer=True)
    o = sp.Sum(P[i, key] * V[key, d], (key, 1, S_k))
    return o, sp.Sum(dO[i, d] * o, (d, 1, D))


@wrong("delta_identity", "P is missing from the sum: O is a mean under P.", "P forgotten in O")
def identity_without_p(P, V, dO, i, d, S_k, D):
    j = sp.Symbol("j", integer=True)
    o_id = sp.Sum(V[j, d], (j, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))


@wrong("delta_identity", "V has keys as rows: V[j, d].", "indices of V exchanged")
def identity_with_v_transposed(P, V, dO, i, d, S_k, D):
    k = sp.Symbol("k", integer=True)
    o_id = sp.Sum(P[i, k] * V[d, k], (k, 0, S_k - 1))
    return o_id, sp.Sum(dO[i, d] * o_id, (d, 0, D - 1))


# lse_gradient --------------------------------------------------------------------------------------


@right("lse_gradient", "the Jacobian times dp, and p times dlse")
def lse_by_the_jacobian(p, dp, dlse):
    return (sp.diag(*p) - p * p.T) * dp + dlse * p


@wrong("lse_gradient", "dlse lowers the gradient here: its sign is wrong.", "the sign of dLSE")
def lse_subtracted(p, dp, dlse):
    return sp.Matrix([a * (b - p.dot(dp) - dlse) for a, b in zip(p, dp, strict=True)])


@wrong("lse_gradient", "dlse was added to dp before delta was taken, and cancels.", "dLSE forgotten")
def lse_added_to_dp(p, dp, dlse):
    dp = dp + dlse * sp.ones(p.rows, 1)
    return p.multiply_elementwise(dp - p.dot(dp) * sp.ones(p.rows, 1))


@wrong("lse_gradient", "dlse comes with the share p_j.", "dLSE without p")
def lse_without_its_share(p, dp, dlse):
    return p.multiply_elementwise(dp - p.dot(dp) * sp.ones(p.rows, 1)) + dlse * sp.ones(p.rows, 1)


@wrong("lse_gradient", "delta is missing.", "delta forgotten")
def lse_without_delta(p, dp, dlse):
    return sp.Matrix([p[j] * (dp[j] + dlse) for j in range(p.rows)])


# attention_dq_dk -----------------------------------------------------------------------------------


@right("attention_dq_dk", "alpha multiplied into the factors")
def dq_dk_with_scaled_factors(q, k, ds, alpha):
    return ds * (alpha * k), ((alpha * q).T * ds).T


@wrong("attention_dq_dk", "alpha is in dQ only.", "alpha forgotten in dK")
def dq_dk_alpha_in_one(q, k, ds, alpha):
    ds_scaled = alpha * ds
    return ds_scaled * k, ds.T * q


@wrong("attention_dq_dk", "alpha was multiplied in twice.", "alpha applied twice")
def dq_dk_alpha_twice(q, k, ds, alpha):
    ds = alpha * ds
    return alpha * (ds * k), alpha * (ds.T * q)


@wrong("attention_dq_dk", "dS is not turned for dK.", "wrong shape", "crashed", "transposed")
def dq_dk_without_turning(q, k, ds, alpha):
    return alpha * ds * k, alpha * ds * q


@wrong("attention_dq_dk", "Both have the wrong sign.", "sign")
def dq_dk_with_minus(q, k, ds, alpha):
    return -alpha * ds * k, -alpha * ds.T * q


# attention_backward --------------------------------------------------------------------------------

LOOPED = """
def attention_backward(q, k, v, do, alpha):
    # a query at a time, as one would with pencil and paper
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for i in range(q.shape[0]):
        s = alpha * (k @ q[i])
        e = torch.exp(s - s.max())
        p = e / e.sum()
        dp = v @ do[i]
        delta = p.dot(dp)
        ds = p * (dp - delta)
        dq[i] = alpha * (k.T @ ds)
        dk += alpha * torch.outer(ds, q[i])
        dv += torch.outer(p, do[i])
    return dq, dk, dv
"""

MATRICES = """
def attention_backward(q, k, v, do, alpha):
    scores = torch.einsum("id,jd->ij", q, k).mul(alpha)
    lse = torch.logsumexp(scores, dim=-1)
    p = torch.exp(scores - lse[:, None])
    o = p @ v
    delta = torch.sum(do * o, dim=-1)
    d_scores = p * (do @ v.transpose(0, 1) - delta[:, None])
    dq = torch.einsum("ij,jd->id", d_scores, k) * alpha
    dk = torch.einsum("ij,id->jd", d_scores, q) * alpha
    dv = torch.einsum("ij,id->jd", p, do)
    return dq, dk, dv
"""

right("attention_backward", "a loop over the queries, outer products")(written(LOOPED))
right("attention_backward", "einsum, logsumexp, delta from O")(written(MATRICES))

wrong(
    "attention_backward",
    "The maximum is not subtracted: beyond 88 the exponentials overflow.",
    "maximum not subtracted",
    "overflow",
    title="loop, exp of the scores",
)(edited(LOOPED, ("torch.exp(s - s.max())", "torch.exp(s)")))

wrong(
    "attention_backward",
    "delta is missing.",
    "delta forgotten",
    title="loop, p * dp",
)(edited(LOOPED, ("p * (dp - delta)", "p * dp")))

wrong(
    "attention_backward",
    "dK is overwritten by each query; it is a sum over queries.",
    "only the last tile",
    title="loop, dk = instead of dk +=",
)(edited(LOOPED, ("dk += alpha", "dk = alpha")))

wrong(
    "attention_backward",
    "The softmax was taken over the queries.",
    "softmax over the queries",
    title="matrices, logsumexp over dim 0",
)(
    edited(
        MATRICES,
        ("torch.logsumexp(scores, dim=-1)", "torch.logsumexp(scores, dim=0)"),
        ("lse[:, None]", "lse[None, :]"),
    )
)

wrong(
    "attention_backward",
    "The first query is left out of the sums for dK and dV, and its dQ is zero: the loop starts at 1.",
    "first tile missing",
    title="loop from 1",
)(edited(LOOPED, ("for i in range(q.shape[0])", "for i in range(1, q.shape[0])")))

wrong(
    "attention_backward",
    "P stands where dS belongs in dK.",
    "P in place of dS in dK",
    title="matrices, dk from p",
)(edited(MATRICES, ('"ij,id->jd", d_scores, q', '"ij,id->jd", p, q')))

wrong(
    "attention_backward",
    "alpha is missing in dQ and dK.",
    "alpha forgotten in both",
    title="matrices, no alpha",
)(edited(MATRICES, ("d_scores, k) * alpha", "d_scores, k)"), ("d_scores, q) * alpha", "d_scores, q)")))

wrong(
    "attention_backward",
    "alpha is missing in dQ, and delta is forgotten: two mistakes.",
    "delta forgotten + alpha forgotten in dQ",
    title="matrices, no delta, no alpha in dq",
)(edited(MATRICES, ("d_scores, k) * alpha", "d_scores, k)"), (" - delta[:, None])", ")")))

wrong(
    "attention_backward",
    "dQ and dK are in each other's place.",
    "outputs exchanged",
    "shape",
    title="matrices, dk before dq",
)(edited(MATRICES, ("return dq, dk, dv", "return dk, dq, dv")))

wrong(
    "attention_backward",
    "delta is subtracted from columns: without keepdim it broadcasts along the wrong axis.",
    "crashed",
    title="matrices, delta without [:, None]",
)(edited(MATRICES, ("- delta[:, None]", "- delta")))


@wrong("attention_backward", "autograd computed it.", "review", "not_yours", "crashed")
def backward_by_autograd(q, k, v, do, alpha):
    leaves = [t.detach().clone().requires_grad_(True) for t in (q, k, v)]
    with torch.enable_grad():
        o = torch.softmax(alpha * leaves[0] @ leaves[1].T, -1) @ leaves[2]
    o.backward(do)
    return tuple(t.grad for t in leaves)
