"""The named mistakes of lesson 03: what goes wrong in attention's backward pass, and what to say about it.

In sympy for the symbolic answers, in torch for the formulas and the kernel; where torch cannot say it,
the mistake is one of faulty_kernels.
"""

from __future__ import annotations

import sympy as sp
import torch
from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_03_attention_backward import faulty_kernels as broken
from flashlearn.lessons.lesson_03_attention_backward import one_walk
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, with_faults
from flashlearn.lessons.shared.faulty_formulas.sums import delta
from flashlearn.outcome import Status

# ---------------------------------------------------------------- symbolic


def _centred(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    """P ∘ (dP − delta), row by row."""
    delta = [p.row(i).dot(dp.row(i)) for i in range(p.rows)]
    return sp.Matrix(p.rows, p.cols, lambda i, j: p[i, j] * (dp[i, j] - delta[i]))


DV_DP = {
    "P forgotten in dV": Mistake(
        "Every key gets the same dV: you summed the rows of dO as they are. A query gives to a key in "
        "proportion to P_ij, and gets back in the same proportion.",
        "Write out O_i = Σ_j P_ij V_j: with which weight does V_j enter O_i?",
        wrong=lambda p, v, do: (sp.ones(p.cols, p.rows) * do, do * v.T),
    ),
    "dV averaged over the queries": Mistake(
        "Your dV is divided by the number of queries. V_j is used by every query, and what is used S_q times "
        "collects S_q gradients: they add.",
        "Leave the division out. A mean belongs to a loss that is one.",
        wrong=lambda p, v, do: (p.T * do / p.rows, do * v.T),
    ),
    "dP multiplied by P": Mistake(
        "Your dP is P ∘ (dO Vᵀ). dP asks how the loss changes with a probability, and that does not depend "
        "on how large the probability is.",
        "The factor P comes one step later, on the way through the softmax.",
        wrong=lambda p, v, do: (p.T * do, p.multiply_elementwise(do * v.T)),
    ),
    "dS in place of dP": Mistake(
        "You went one step too far: what you return as dP is dS = P ∘ (dP − delta), the gradient before the "
        "softmax.",
        "Stop at O = P V: its two factors are P and V.",
        wrong=lambda p, v, do: (p.T * do, _centred(p, do * v.T)),
    ),
    "O in place of dO": Mistake(
        "You multiplied by O = P V where the gradient dO belongs.",
        "The backward pass of a product L·R takes one factor from the forward pass, and the other is the "
        "gradient.",
        wrong=lambda p, v, do: (p.T * (p * v), p * v * v.T),
    ),
}


def identity(P, V, dO, i, d, S_k, D, faults: Faults = NONE) -> tuple[sp.Expr, sp.Expr]:
    """(O_id, delta_i) with faults by name: in the sums' limits, in an index, or in what is summed."""
    j, e = sp.symbols("j e", integer=True)
    first = 1 if "from one" in faults else 0
    beyond = 1 if "one more" in faults else 0

    def over(index, size):
        return (index, first, size - 1 + first + beyond)

    def gradient(c):
        return dO[c, i] if "dO turned" in faults else dO[i, c]

    def o(c):
        value = V[c, j] if "V turned" in faults else V[j, c]
        weight = P[j, i] if "P turned" in faults else P[i, j]
        weight = 1 if "no P" in faults else weight
        return sp.Sum(weight * value * (gradient(c) if "dO in O" in faults else 1), over(j, S_k))

    def term(c):
        return o(c) if "no dO outside" in faults else gradient(c) * o(c)

    if "taken apart" in faults:
        return o(d), sp.Sum(gradient(e), over(e, D)) * sp.Sum(o(e), over(e, D))
    return o(d), term(d) if "no sum over d" in faults else sp.Sum(term(e), over(e, D))


DELTA_IDENTITY = {
    "one term too many": Mistake(
        "Your sums have one term too many: a sympy sum includes its upper end.",
        "There are S_k keys, numbered 0 to S_k − 1: (j, 0, S_k - 1).",
        **with_faults(identity, "one more"),
    ),
    "counted from one": Mistake(
        "Your sums run from 1 to the size. Here the first key is number 0, and so is the first component.",
        "Write (j, 0, S_k - 1) and (d, 0, D - 1).",
        **with_faults(identity, "from one"),
    ),
    "indices of V exchanged": Mistake(
        "You took V[d, j]. V has one row per key: V[j, d].",
        "Read the shapes: P is [S_q, S_k] and V is [S_k, D], so the summed index j stands between them.",
        **with_faults(identity, "V turned"),
    ),
    "P forgotten in O": Mistake(
        "Your O_id is the plain sum of the values. Then delta is Σ_j dP_ij, not weighted by P.",
        "O_i is the mean of the values under P_i: each V_jd comes with its P_ij.",
        **with_faults(identity, "no P"),
    ),
    "a sum of products taken apart": Mistake(
        "Your delta is (Σ_d dO_id)(Σ_d O_id): a product of two sums, where a sum of products is due.",
        "Both factors depend on d, so both stand inside the one sum over d.",
        **with_faults(identity, "taken apart"),
    ),
    "dO inside O": Mistake(
        "Your O_id has dO_id in it: that is dO_id · O_id, the product that delta sums over d.",
        "dO_id does not depend on j: take it out of the sum over the keys. What is left inside?",
        **with_faults(identity, "dO in O", also=(("dO in O", "no dO outside"),)),
    ),
    "dO forgotten in delta": Mistake(
        "Your delta is Σ_d O_id: the factor dO_id is missing.",
        "delta_i = Σ_j P_ij dP_ij, and dP_ij = Σ_d dO_id V_jd: where does dO_id go when the sums change "
        "places?",
        **with_faults(identity, "no dO outside"),
    ),
    "no sum over d": Mistake(
        "Your delta_i depends on d: it is one term, dO_id · O_id, of the sum over the components.",
        "A query has one delta. Which index has to be summed away?",
        **with_faults(identity, "no sum over d"),
    ),
    "indices of P exchanged": Mistake(
        "You took P[j, i]. P has one row per query: P[i, j].",
        "O_i is query i's mean of the values: its weights are row i of P.",
        **with_faults(identity, "P turned"),
    ),
    "indices of dO exchanged": Mistake(
        "You took dO[d, i]. dO has one row per query: dO[i, d].",
        "dO has the shape of O, [S_q, D]: which index counts queries?",
        **with_faults(identity, "dO turned"),
    ),
}


def _by_bracket(bracket, outside=lambda p, dlse: 0):
    """A wrong ds from what stands in its bracket beside dp, and from what was added outside."""

    def wrong(p, dp, dlse):
        inside = dp + sp.ones(p.rows, 1) * bracket(p, dp, dlse)
        return p.multiply_elementwise(inside) + sp.ones(p.rows, 1) * outside(p, dlse)

    return wrong


LSE = {
    "dLSE forgotten": Mistake(
        "You returned p ∘ (dp − delta): what comes through O. The part that comes through LSE is missing, or "
        "it cancelled: it does if dlse is added to dp before delta is computed.",
        "What is the derivative of log Σ_l exp(s_l) by s_j?",
        wrong=_by_bracket(lambda p, dp, dlse: -p.dot(dp)),
    ),
    "the sign of dLSE": Mistake(
        "You subtracted dlse. Raising a score raises LSE: its part of the gradient has the sign of dlse.",
        "delta − dLSE stands in a bracket with a minus in front: what sign does dLSE get in the end?",
        wrong=_by_bracket(lambda p, dp, dlse: -p.dot(dp) - dlse),
    ),
    "dLSE without p": Mistake(
        "You added dlse to every score alike. Score j has the share p_j in LSE.",
        "∂LSE/∂s_j = exp(s_j) / Σ_l exp(s_l). What is that called?",
        wrong=_by_bracket(lambda p, dp, dlse: -p.dot(dp), outside=lambda p, dlse: dlse),
    ),
    "delta forgotten": Mistake(
        "You returned p ∘ (dp + dlse): delta, the mean of dp under p, is missing.",
        "Two paths lead from the loss to a score, by p and by LSE. Through the softmax, dp becomes "
        "p ∘ (dp − ⟨p, dp⟩) as before.",
        wrong=_by_bracket(lambda p, dp, dlse: dlse),
    ),
    "dLSE shared out evenly": Mistake(
        "You divided dlse by the number of keys. It is shared out in proportion to p, which already sums "
        "to one.",
        "Leave the division out.",
        wrong=_by_bracket(lambda p, dp, dlse: -p.dot(dp) + dlse / p.rows),
    ),
}


def dq_dk(q, k, ds, alpha, faults: Faults = NONE) -> tuple[sp.Matrix, sp.Matrix]:
    """dQ and dK of S = alpha Q Kᵀ with faults by name."""

    def scale(output):
        power = 1 - (f"none in {output}" in faults) + (f"twice in {output}" in faults)
        return alpha ** (-1 if "divided" in faults else power)

    dk = q.T * ds if "dK turned" in faults else ds.T * q
    return scale("dQ") * ds * k, scale("dK") * dk


DQ_DK = {
    "alpha forgotten": Mistake(
        "Neither dQ nor dK has the factor alpha.",
        "S = alpha Q Kᵀ: move Q by a little, and S moves alpha times as much as Q Kᵀ.",
        **with_faults(dq_dk, "none in dQ", "none in dK"),
    ),
    "alpha forgotten in dK": Mistake(
        "The factor alpha is missing in dK.",
        "S = (alpha Q) Kᵀ = Q (alpha K)ᵀ: alpha belongs to both factors alike.",
        **with_faults(dq_dk, "none in dK"),
    ),
    "alpha forgotten in dQ": Mistake(
        "The factor alpha is missing in dQ.",
        "S = (alpha Q) Kᵀ = Q (alpha K)ᵀ: alpha belongs to both factors alike.",
        **with_faults(dq_dk, "none in dQ"),
    ),
    "alpha applied twice": Mistake(
        "Both have alpha squared: it was multiplied in twice.",
        "alpha occurs once in S = alpha Q Kᵀ, so once in each derivative. Was it already in dS?",
        **with_faults(dq_dk, "twice in dQ", "twice in dK"),
    ),
    "alpha twice in dK": Mistake(
        "dK has the factor alpha twice.",
        "alpha occurs once in S = alpha Q Kᵀ, so once in each derivative. Is it in the Q or the dS that you "
        "multiply?",
        **with_faults(dq_dk, "twice in dK"),
    ),
    "alpha twice in dQ": Mistake(
        "dQ has the factor alpha twice.",
        "alpha occurs once in S = alpha Q Kᵀ, so once in each derivative. Is it in the K or the dS that you "
        "multiply?",
        **with_faults(dq_dk, "twice in dQ"),
    ),
    "dK transposed": Mistake(
        "Your dK is a multiple of Qᵀ dS: the gradient of Kᵀ, lying on its side. dK has the shape of K.",
        "S is Q times Kᵀ, so the rule for a product gives the gradient of Kᵀ. How does K's follow from it?",
        **with_faults(dq_dk, "dK turned"),
    ),
    "divided by alpha": Mistake(
        "You divided by alpha. The factor of the forward pass is the factor of the backward pass.",
        "The derivative of alpha · x by x is alpha, not 1/alpha.",
        **with_faults(dq_dk, "divided"),
    ),
}

# ---------------------------------------------------------------- torch: dQ in one walk

ONE_WALK = {
    "delta forgotten": Mistake(
        "You returned alpha Σ P dP K: what delta takes away is missing.",
        "dS = P ∘ (dP − delta). Multiply it out, and sum both parts in the same walk.",
        **with_faults(one_walk.dq, "no delta"),
    ),
    "delta so far": Mistake(
        "Each tile's dS was made with the delta of the tiles seen so far. It is complete only after the "
        "last one.",
        "Take delta out of the sum over the keys: what remains beside it can be summed without knowing it.",
        **with_faults(one_walk.dq, "delta so far"),
    ),
    "delta of the tile alone": Mistake(
        "Each tile's dS was made with a delta of its own. There is one delta per query, over all keys.",
        "Sum P dP over all tiles, and subtract once, when the walk is over.",
        **with_faults(one_walk.dq, "delta of the tile"),
    ),
    "delta not multiplied in": Mistake(
        "You subtracted Σ P K as it is. It has to be multiplied by delta first.",
        "Σ_j P_ij (dP_ij − delta_i) K_j: which factor stands before the second sum?",
        **with_faults(one_walk.dq, "delta is 1"),
    ),
    "a softmax of each tile": Mistake(
        "P is a softmax of each tile by itself: the weights of a query sum to 1 in every tile, and not over "
        "all keys.",
        "lse knows the whole row: P = exp(S − LSE), tile by tile.",
        **with_faults(one_walk.dq, "softmax of the tile"),
    ),
    "only the last tile": Mistake(
        "dQ holds the last tile alone: each tile replaces what was summed.",
        "Add: start the three sums from zero before the loop.",
        **with_faults(one_walk.dq, "last tile only"),
    ),
    "tiles kept": Mistake(
        "dq is NaN wherever there is more than one tile: you kept tiles, and computed with them later. A "
        "tile is gone when the next one comes.",
        "What you need of a tile has to be added up while it is there.",
        **with_faults(one_walk.dq, "tiles kept"),
    ),
    "alpha forgotten": Mistake(
        "dQ lacks the factor alpha. The scores have theirs.",
        "alpha stands in S once, so once in the derivative of S by Q.",
        **with_faults(one_walk.dq, "no alpha"),
    ),
    "scores without alpha": Mistake(
        "P is made of Q Kᵀ without alpha, though lse is that of alpha Q Kᵀ.",
        "P = exp(alpha Q Kᵀ − LSE).",
        **with_faults(one_walk.dq, "scores without alpha"),
    ),
}

# ---------------------------------------------------------------- torch: the whole backward pass


def backward(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float, faults: Faults = NONE
) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of one head, with faults by name."""
    s = q @ k.T * (1.0 if "scores without alpha" in faults else alpha)
    p = torch.softmax(s, dim=0 if "softmax over the queries" in faults else 1)
    if "exp without maximum" in faults:
        e = s.float().exp()
        p = (e / e.sum(dim=1, keepdim=True)).to(s.dtype)
    if "maximum before alpha" in faults:
        raw = (q @ k.T).float()
        e = (alpha * (raw - raw.amax(dim=1, keepdim=True))).exp()
        p = (e / e.sum(dim=1, keepdim=True)).to(s.dtype)
    dp = do @ v.T
    ds = dp - _delta(p, dp, faults)
    ds = ds if "no P in front" in faults else p * ds
    for_dk = p if "P for dS" in faults else ds
    power = 2 if "alpha twice" in faults else 1
    a_q = 1.0 if "no alpha in dQ" in faults else alpha**power
    a_k = 1.0 if "no alpha in dK" in faults else alpha**power
    dk, dv = a_k * for_dk.T @ q, p.T @ do
    return a_q * ds @ k, dk, dv


def _delta(p: Tensor, dp: Tensor, faults: Faults) -> Tensor:
    """What is subtracted from dP."""
    if "no delta" in faults:
        return torch.zeros_like(dp[:, :1])
    if "delta is the sum of dP" in faults:
        return dp.sum(dim=1, keepdim=True)
    if "delta is the mean of dP" in faults:
        return dp.mean(dim=1, keepdim=True)
    if "delta over the queries" in faults:
        return (p * dp).sum(dim=0, keepdim=True)
    if "one delta" in faults:
        return (p * dp).sum()
    return (p * dp).sum(dim=1, keepdim=True)


ALPHA_IN_BOTH = "S = alpha Q Kᵀ is linear in both factors: alpha stands in dQ and in dK, once each."
BACKWARD = {
    "delta forgotten": Mistake(
        "dS is P ∘ dP: delta is missing. dV never meets dS.",
        "Subtract each row's delta_i = Σ_j P_ij dP_ij. The test: every row of dS sums to zero.",
        **with_faults(backward, "no delta"),
    ),
    "delta without P": Mistake(
        "You subtracted the plain sum of each row of dP. delta is weighted: Σ_j P_ij dP_ij.",
        "Sum P * dP, not dP.",
        **with_faults(backward, "delta is the sum of dP"),
    ),
    "delta as a plain mean": Mistake(
        "You subtracted the plain mean of each row of dP. The mean is taken under P: Σ_j P_ij dP_ij.",
        "Sum P * dP, and divide by nothing.",
        **with_faults(backward, "delta is the mean of dP"),
    ),
    "delta over the queries": Mistake(
        "Your delta is summed over the queries, one number per key. There is one per query: a row of P is "
        "one distribution.",
        "Sum over the last dimension, with keepdim=True so that it is subtracted from its own row.",
        **with_faults(backward, "delta over the queries"),
    ),
    "one delta for all queries": Mistake(
        "Your delta is one number for the whole matrix: the sum ran over all rows.",
        "Give the sum a dimension: .sum(dim=-1, keepdim=True).",
        **with_faults(backward, "one delta"),
    ),
    "P in front forgotten": Mistake(
        "dS is dP − delta, without the factor P in front.",
        "dS_ij = P_ij (dP_ij − delta_i): both terms of the softmax's Jacobian carry a P_ij.",
        **with_faults(backward, "no P in front"),
    ),
    "alpha forgotten in dQ": Mistake(
        "dQ lacks the factor alpha.", ALPHA_IN_BOTH, **with_faults(backward, "no alpha in dQ")
    ),
    "alpha forgotten in dK": Mistake(
        "dK lacks the factor alpha.", ALPHA_IN_BOTH, **with_faults(backward, "no alpha in dK")
    ),
    "alpha forgotten in both": Mistake(
        "dQ and dK both lack the factor alpha.",
        ALPHA_IN_BOTH,
        **with_faults(backward, "no alpha in dQ", "no alpha in dK"),
    ),
    "alpha applied twice": Mistake(
        "dQ and dK have alpha squared: it was multiplied into dS, and again into the products.",
        ALPHA_IN_BOTH,
        **with_faults(backward, "alpha twice"),
    ),
    "scores without alpha": Mistake(
        "P was computed from Q Kᵀ without alpha, so everything that uses P is off.",
        "S = alpha Q Kᵀ comes before the softmax; the same alpha comes back in dQ and dK.",
        **with_faults(backward, "scores without alpha"),
    ),
    "softmax over the queries": Mistake(
        "The columns of P sum to one, where its rows should: the softmax ran over the queries.",
        "A query distributes its attention over the keys: torch.softmax(S, dim=-1).",
        **with_faults(backward, "softmax over the queries"),
    ),
    "maximum not subtracted": Mistake(
        "The exponentials are taken of the scores as they are: beyond 88.7 they are infinite in fp32, and "
        "∞/∞ is NaN.",
        "Use torch.softmax, or subtract each row's maximum first: it changes neither value nor gradient.",
        **with_faults(backward, "exp without maximum"),
    ),
    "maximum before alpha": Mistake(
        "The maximum is taken before alpha comes in. With a negative alpha the largest Q Kᵀ is the smallest "
        "score: the exponents are positive, and overflow.",
        "Multiply by alpha first, then subtract the maximum.",
        **with_faults(backward, "maximum before alpha"),
    ),
    "P in place of dS in dK": Mistake(
        "Your dK is alpha Pᵀ Q: the probabilities stand where their scores' gradient dS belongs.",
        "dV is Pᵀ times a gradient; dK is dSᵀ times Q. They look alike, and one matrix differs.",
        **with_faults(backward, "P for dS"),
    ),
}

# ---------------------------------------------------------------- the kernel


DELTA = {
    "mean over D": Mistake(
        "You stored the mean over the D components; delta is their sum.",
        "Leave the division by D out.",
        **with_faults(delta, "mean"),
    ),
    "divided by √D": Mistake(
        "You scaled delta by 1/√D. alpha belongs to the scores, dQ and dK; delta has no scale.",
        "Store Σ_d dO_id O_id as it is.",
        **with_faults(delta, "scaled"),
    ),
    "o times itself": Mistake(
        "You stored Σ_d O_id O_id: both tiles were loaded from o.",
        "The second load needs do_ptr, with the strides of do.",
        **with_faults(delta, "o twice"),
    ),
    "do times itself": Mistake(
        "You stored Σ_d dO_id dO_id: both tiles were loaded from do.",
        "The first load needs o_ptr, with the strides of o.",
        **with_faults(delta, "do twice"),
    ),
    "a sum of products taken apart": Mistake(
        "You stored (Σ_d O_id)(Σ_d dO_id): a product of two sums, where a sum of products is due.",
        "Multiply the two tiles entry by entry, then sum once over axis=1.",
        **with_faults(delta, "taken apart"),
    ),
    "the last components left out": Mistake(
        "The last chunk of the D components is missing from the sum: the loop ends too early.",
        "range(0, D, CHUNK) reaches the last chunk, whole or not; the mask guards what lies beyond D.",
        **with_faults(delta, "last tile left out", also=("ragged tile left out",)),
    ),
    "only the last components": Mistake(
        "delta holds the last chunk of the D components alone: each chunk replaces what was summed.",
        "Add: acc += o * do, and start from 0.",
        **with_faults(delta, "last tile only"),
    ),
    "in half precision": Mistake(
        "The products and their sum are computed in half precision, though delta is fp32.",
        "Put .to(tl.float32) right after each tl.load: the product of two fp16 numbers is exact in fp32.",
        launcher=broken.in_half_precision,
    ),
    "heads in one row": Mistake(
        "Head h of batch entry b was looked for at (b · H + h) · o_h, as if batch and head were one "
        "dimension. In a view of a [B, S, H, D] tensor they are not.",
        "Use both strides: b * o_b + h * o_h.",
        launcher=broken.with_heads_in_one_row,
    ),
    "no mask in d": Mistake(
        "The loads touch all BLOCK_D columns: from D on, these are another query's numbers, or none at all.",
        "The mask has two parts: (i < S)[:, None] & (d < D)[None, :].",
        launcher=broken.without_mask_in_d,
        status=Status.OUT_OF_BOUNDS,
    ),
    "no mask in s": Mistake(
        "The loads touch all BLOCK_S rows: from S on, these are another head's queries, or none at all.",
        "The mask has two parts: (i < S)[:, None] & (d < D)[None, :].",
        launcher=broken.without_mask_in_s,
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of o used for do": Mistake(
        "Both loads use the strides of o. do comes from whatever follows attention, in that layout.",
        "Address do with do_b, do_h, do_s and do_d.",
        launcher=broken.strides_of_o_for_do,
        status=Status.OUT_OF_BOUNDS,
    ),
    "one delta for all heads": Mistake(
        "The store leaves the head out, so that all heads write to the first one's slots.",
        "delta is contiguous: head h of batch entry b begins at (b * H + h) * S.",
        launcher=broken.one_delta_for_all_heads,
        status=Status.RACE,
    ),
}
