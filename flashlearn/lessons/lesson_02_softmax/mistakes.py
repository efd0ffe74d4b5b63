"""The named mistakes of lesson 02: what people get wrong about softmax, and what to say to them.

In sympy for the symbolic answers, in torch for the two kernels; where torch cannot say it, the
mistake is one of faulty_kernels.
"""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_02_softmax import faulty_kernels as broken
from flashlearn.lessons.shared.faulty_formulas.faults import with_faults
from flashlearn.lessons.shared.faulty_formulas.rows import softmax, softmax_vjp
from flashlearn.outcome import Status


def _by_entries(entry):
    """A wrong Jacobian from its entries: entry(p_k, p_j, k == j)."""
    return lambda p: sp.Matrix(p.rows, p.rows, lambda k, j: entry(p[k], p[j], k == j))


def _by_bracket(bracket):
    """A wrong VJP from what stands in its bracket: p ∘ (dp − bracket(p, dp))."""
    return lambda p, dp: p.multiply_elementwise(dp - sp.ones(p.rows, 1) * bracket(p, dp))


JACOBIAN = {
    "plus p pᵀ": Mistake(
        "Your off-diagonal entries are positive: diag(p) + p pᵀ. Raising one score would then raise every "
        "probability, and their sum could not stay 1.",
        "Look at the case k ≠ j again: the score s_j sits in the denominator only.",
        wrong=lambda p: sp.diag(*p) + p * p.T,
    ),
    "the diagonal lacks its p_k": Mistake(
        "Your matrix is −p pᵀ: the denominator's derivative everywhere, and the numerator's nowhere.",
        "For k = j the score sits in the numerator too. Which term of the quotient rule is that?",
        wrong=lambda p: -p * p.T,
    ),
    "the identity for diag(p)": Mistake(
        "Your diagonal is 1 − p_k²: the identity stands where diag(p) belongs.",
        "Differentiate the numerator e^{s_k} by its own score, and divide by the sum: is that 1, or p_k?",
        wrong=lambda p: sp.eye(p.rows) - p * p.T,
    ),
    "one share squared": Mistake(
        "Off the diagonal one share is multiplied by itself. Two different ones meet there: −p_k p_j.",
        "In entry (k, j), which share is differentiated, and by whose score?",
        wrong=_by_entries(lambda a, b, same: a * (1 - a) if same else -a * a),
        also=(_by_entries(lambda a, b, same: a * (1 - a) if same else -b * b),),
    ),
    "the competition forgotten": Mistake(
        "Your matrix is diag(p): the numerator's derivative, and nowhere the denominator's. Its rows do not "
        "sum to zero.",
        "The score s_j sits in the denominator of every share: what does that add to entry (k, j)?",
        wrong=lambda p: sp.diag(*p),
    ),
    "only the diagonal": Mistake(
        "Your matrix is diagonal, as if each probability depended on its own score alone. That is the "
        "derivative of an element-wise function such as the sigmoid.",
        "Every score is part of every row's denominator: what is ∂p_0/∂s_1?",
        wrong=_by_entries(lambda a, b, same: a * (1 - a) if same else sp.S.Zero),
    ),
    "p_j (1 − p_k) everywhere": Mistake(
        "You used the diagonal's formula p (1 − p) in every place: the entry (k, j) has p_k (1 − p_j) also "
        "where k ≠ j.",
        "Only where k = j does the numerator contribute. Check one row: its entries must sum to 0.",
        wrong=_by_entries(lambda a, b, same: a * (1 - b)),
    ),
    "⟨p, p⟩ in place of p pᵀ": Mistake(
        "From diag(p) you subtracted one number everywhere, ⟨p, p⟩ = p_0² + p_1² + …, instead of the "
        "matrix p pᵀ.",
        "p is a column here: p * p.T is N × N, and p.T * p is one number.",
        wrong=lambda p: sp.diag(*p) - p.dot(p) * sp.ones(p.rows, p.rows),
    ),
    "the sign of the whole matrix": Mistake(
        "Every entry has the opposite sign: p pᵀ − diag(p).",
        "Raising a score must raise its own probability: the diagonal is positive.",
        wrong=lambda p: p * p.T - sp.diag(*p),
    ),
}


VJP = {
    "⟨p, dp⟩ forgotten": Mistake(
        "You returned p ∘ dp: what diag(p) contributes. The competition, −p pᵀ, is missing.",
        "Multiply −p pᵀ by dp: pᵀ dp is one number, ⟨p, dp⟩. Where does it go?",
        wrong=lambda p, dp: p.multiply_elementwise(dp),
    ),
    "sum of dp, not weighted by p": Mistake(
        "You subtracted the plain sum of dp. The sum is weighted: Σ_k p_k dp_k.",
        "pᵀ dp multiplies entry by entry before it sums.",
        wrong=_by_bracket(lambda p, dp: sum(dp)),
    ),
    "plain mean of dp": Mistake(
        "You subtracted the plain mean of dp. The mean is taken under the distribution p: Σ_k p_k dp_k.",
        "The two agree only where all probabilities are equal. Try p = (1/6, 1/3, 1/2).",
        wrong=_by_bracket(lambda p, dp: sum(dp) / p.rows),
    ),
    "p in front forgotten": Mistake(
        "You returned dp − ⟨p, dp⟩, without the factor p_j in front.",
        "The term −p pᵀ dp is −p times a number: both terms carry a p_j.",
        wrong=lambda p, dp: dp - sp.ones(p.rows, 1) * p.dot(dp),
    ),
    "p on dp alone": Mistake(
        "You returned p · dp − ⟨p, dp⟩: the inner product is subtracted without the factor p.",
        "Both terms carry a p_j. Which of yours has none?",
        wrong=lambda p, dp: p.multiply_elementwise(dp) - sp.ones(p.rows, 1) * p.dot(dp),
    ),
    "only the diagonal of J": Mistake(
        "You returned p (1 − p) dp, entry by entry: the diagonal of J alone, as for a sigmoid.",
        "dp_k reaches ds_j for every k, through J_kj = −p_k p_j.",
        wrong=lambda p, dp: sp.Matrix([a * (1 - a) * b for a, b in zip(p, dp, strict=True)]),
    ),
    "plus ⟨p, dp⟩": Mistake(
        "You added ⟨p, dp⟩ where it must be subtracted.",
        "If all of dp is the same number, ds must be zero (why?). Try dp = (1, 1, 1).",
        wrong=_by_bracket(lambda p, dp: -p.dot(dp)),
    ),
    "the sign of ds": Mistake(
        "Every entry has the opposite sign: p ∘ (⟨p, dp⟩ − dp).",
        "A score whose dp is above the average gets a positive ds.",
        wrong=lambda p, dp: p.multiply_elementwise(sp.ones(p.rows, 1) * p.dot(dp) - dp),
    ),
    "p subtracted instead": Mistake(
        "You subtracted p itself, as in p − y, the gradient of the cross-entropy through softmax. That "
        "formula belongs to that one loss; here dp may be anything.",
        "Multiply out (diag(p) − p pᵀ) dp for a general dp.",
        wrong=lambda p, dp: p.multiply_elementwise(dp) - p,
    ),
}


LOG_VJP = {
    "softmax's own formula": Mistake(
        "You returned p ∘ (dlog − ⟨p, dlog⟩): the gradient through softmax. Here the gradient arrives at the "
        "logarithms of the shares.",
        "Differentiate log p_k = s_k − log Z, not p_k.",
        wrong=lambda p, dlog: p.multiply_elementwise(dlog - sp.ones(p.rows, 1) * p.dot(dlog)),
    ),
    "times p": Mistake(
        "You returned p ∘ (dlog − Σ dlog): softmax's gradient has that factor p, on both terms. Here only "
        "the sum is handed out by shares; dlog_j itself arrives at score j whole.",
        "∂ log p_j/∂s_j is 1 − p_j: which of its two terms has a p?",
        wrong=lambda p, dlog: p.multiply_elementwise(dlog - sp.ones(p.rows, 1) * sum(dlog)),
    ),
    "one class": Mistake(
        "You returned dlog − p. That is right where dlog is 1 at one class and 0 elsewhere, as in a "
        "cross-entropy loss: there its sum is 1. Any dlog may arrive here.",
        "By what is p multiplied, if the entries of dlog do not sum to 1?",
        wrong=lambda p, dlog: dlog - p,
    ),
    "log Z forgotten": Mistake(
        "You returned dlog as it came: what the term s_k contributes. The term −log Z is missing.",
        "Every score is part of Z: what is ∂ log Z/∂s_j?",
        wrong=lambda p, dlog: dlog,
    ),
    "weighted by p": Mistake(
        "You subtracted p times the mean of dlog under p. Every logarithm hands −p_j of its gradient to "
        "score j, whatever its own share: the sum of dlog is the plain one.",
        "Write out Σ_k dlog_k ∂ log p_k/∂s_j for N = 2. Where does p_k come in?",
        wrong=lambda p, dlog: dlog - p * p.dot(dlog),
    ),
    "the sum without p": Mistake(
        "You subtracted the sum of dlog from every entry. Each score j takes its share of that sum, p_j.",
        "∂ log Z/∂s_j is not 1. Check: the entries of ds must sum to 0.",
        wrong=lambda p, dlog: dlog - sp.ones(p.rows, 1) * sum(dlog),
    ),
    "plain mean": Mistake(
        "You subtracted the plain mean of dlog. That is right only where all shares are equal.",
        "∂ log Z/∂s_j is p_j, and 1/N only in a row of equal scores.",
        wrong=lambda p, dlog: dlog - sp.ones(p.rows, 1) * sum(dlog) / p.rows,
    ),
    "J in place of its transpose": Mistake(
        "You multiplied J by dlog, and not its transpose: ⟨p, dlog⟩ is subtracted from every entry. This "
        "Jacobian is not symmetric, unlike that of softmax.",
        "ds_j = Σ_k dlog_k J_kj: the sum runs over outputs, down a column of J.",
        wrong=lambda p, dlog: dlog - sp.ones(p.rows, 1) * p.dot(dlog),
    ),
    "plus p": Mistake(
        "You added p times the sum of dlog where it must be subtracted.",
        "log p_k is s_k minus log Z. If all of dlog is the same number and so are all shares, ds must be 0.",
        wrong=lambda p, dlog: dlog + p * sum(dlog),
    ),
    "the sign of ds": Mistake(
        "Every entry has the opposite sign: p Σ dlog − dlog.",
        "Raising a score raises the logarithm of its own share.",
        wrong=lambda p, dlog: p * sum(dlog) - dlog,
    ),
}


FORWARD = {
    "maximum not subtracted": Mistake(
        "The exponentials are taken of the scores as they are: exp(89) is already infinite in fp32, ∞/∞ is "
        "NaN, and exp(−200) is 0, so that a row far below zero becomes 0/0.",
        "Take the row's maximum first and exponentiate s − m_i: the largest exponential is then exp(0) = 1.",
        **with_faults(softmax, "no maximum"),
    ),
    "padding enters the sum": Mistake(
        "The padded lanes count as scores of 0: each adds exp(0 − m_i) to the row's sum.",
        "Give the load an other= that changes neither a maximum nor a sum of exponentials.",
        **with_faults(softmax, "zeros in whole rows", also=("zeros in the sum",)),
    ),
    "padding enters the maximum": Mistake(
        "What is subtracted from a row is never below 0, as if padded lanes took part in the maximum as "
        "scores of 0, or as if it started at 0. In a row far below zero all exponentials vanish.",
        "Start from -float('inf'), which loses against every score, and give it to padded lanes as other=.",
        **with_faults(softmax, "zeros in the maximum"),
    ),
    "divided by the sum so far": Mistake(
        "Each block of p is divided by the sum of the blocks up to its own: it was stored while the sum was "
        "still growing. Only the last block is right.",
        "Finish the loop that sums, then divide and store in a loop of its own.",
        **with_faults(softmax, "sum so far"),
    ),
    "the sum lacks the maximum": Mistake(
        "The numerators are exp(s − m_i), and the denominator is the sum of exp(s) as it is: each row sums "
        "to exp(−m_i).",
        "Both belong to the same unit: subtract m_i in the sum, too.",
        **with_faults(softmax, "sum without the maximum"),
    ),
    "the sum of the last block": Mistake(
        "The denominator is the sum of the row's last block alone: each block replaces what was summed.",
        "Add: l_i += tl.sum(…), and start from 0.",
        **with_faults(softmax, "last tile only"),
    ),
    "the maximum of the last block": Mistake(
        "The maximum is that of the row's last block: each block replaces it. In exact arithmetic any number "
        "may be subtracted; in fp32 a score that is 89 larger overflows.",
        "m_i is the larger of m_i and the block's maximum.",
        **with_faults(softmax, "last tile's maximum"),
    ),
    "l not rescaled": Mistake(
        "The sum is not rescaled when the running maximum moves: what the earlier blocks gave is still in "
        "units of exp(m_old).",
        "Multiply l_i by exp(m_i − m_new) before the block's sum is added.",
        **with_faults(softmax, "l not rescaled"),
    ),
    "logarithm of l forgotten": Mistake(
        "You stored exp(s − (m_i + l_i)). Dividing by l_i is subtracting log(l_i) in the exponent.",
        "The LSE is m_i + log(l_i).",
        **with_faults(softmax, "m + l"),
    ),
    "normalised over columns": Mistake(
        "Each column sums to 1 where each row should: the sum ran over the rows of a column.",
        "One program owns one row: program i needs the elements s[i, 0], …, s[i, N − 1].",
        **with_faults(softmax, "over columns"),
    ),
    "not divided by the sum": Mistake(
        "You stored exp(s − m_i): the largest entry of each row is exactly 1, and rows do not sum to 1.",
        "Divide by l_i, the sum of the row's exponentials.",
        **with_faults(softmax, "not divided"),
    ),
    "divided by the number of columns": Mistake(
        "p is the exponential divided by N, the number of columns: that is a mean's denominator.",
        "Divide by l_i, the sum of the row's exponentials.",
        **with_faults(softmax, "divided by N"),
    ),
    "powers of two": Mistake(
        "You computed 2^(s − m_i): tl.exp2 needs its argument multiplied by log2(e).",
        "Use tl.exp, or tl.exp2((s - m_i) * 1.4426950408889634).",
        **with_faults(softmax, "powers of two"),
    ),
    "logarithm of the softmax": Mistake(
        "You stored s − m_i − log(l_i), the logarithm of the softmax.",
        "The task asks for the probabilities themselves: exp(s − m_i) / l_i.",
        **with_faults(softmax, "logarithm"),
    ),
    "load without a mask": Mistake(
        "The load touches all BLOCK lanes: those from column N on lie beyond the row, and in the last row "
        "beyond the tensor.",
        "Pass mask=j < N to the load, and an other= that adds nothing.",
        launcher=broken.forward_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of s used for p": Mistake(
        "The store uses the strides of s. p is a new, contiguous tensor: where s is a slice or a transposed "
        "view, the strides differ.",
        "Address p with p_row and p_col.",
        launcher=broken.forward_with_the_strides_of_s,
        status=Status.OUT_OF_BOUNDS,
    ),
    "sum in half precision": Mistake(
        "The exponentials are rounded to fp16 before they are summed and divided: 11 bits, where fp32 "
        "keeps 24.",
        "Keep everything in fp32 between the load and the store; the store converts by itself.",
        launcher=broken.forward_in_half_precision,
    ),
}


BACKWARD = {
    "⟨p, dp⟩ forgotten": Mistake(
        "You stored p · dp: what diag(p) contributes. The competition between the probabilities is missing.",
        "Subtract the row's inner product from dp before you multiply by p.",
        **with_faults(softmax_vjp, "no inner product"),
    ),
    "sum of dp, not weighted by p": Mistake(
        "You subtracted the plain sum of dp. The sum is weighted: Σ_j p_j dp_j.",
        "Sum the product p * dp, not dp.",
        **with_faults(softmax_vjp, "inner of dp alone"),
    ),
    "plain mean of dp": Mistake(
        "You subtracted the plain mean of dp. The mean is taken under p: Σ_j p_j dp_j, with nothing to "
        "divide by.",
        "Sum the product p * dp; the weights p already sum to 1.",
        **with_faults(softmax_vjp, "inner of dp alone", "divided by N"),
    ),
    "inner product divided by N": Mistake(
        "You divided ⟨p, dp⟩ by N. The weights p already sum to 1: the weighted sum is the mean.",
        "Leave the division out.",
        **with_faults(softmax_vjp, "divided by N"),
    ),
    "p in front forgotten": Mistake(
        "You stored dp − ⟨p, dp⟩, without the factor p in front.",
        "Both terms carry a p_j. Which of yours has none?",
        **with_faults(softmax_vjp, "no p in front"),
    ),
    "p on dp alone": Mistake(
        "You stored p · dp − ⟨p, dp⟩: the inner product is subtracted without the factor p.",
        "Both terms carry a p_j. Which of yours has none?",
        **with_faults(softmax_vjp, "p on dp alone"),
    ),
    "only the diagonal of J": Mistake(
        "You stored p (1 − p) dp: the diagonal of J alone, as for a sigmoid.",
        "dp_k reaches ds_j for every k of the row: that is what the inner product carries.",
        **with_faults(softmax_vjp, "only the diagonal"),
    ),
    "plus ⟨p, dp⟩": Mistake(
        "You added ⟨p, dp⟩ where it must be subtracted.",
        "ds must sum to 0 over a row: add up what you stored.",
        **with_faults(softmax_vjp, "plus"),
    ),
    "the sign of ds": Mistake(
        "Every entry has the opposite sign: p (⟨p, dp⟩ − dp).",
        "A score whose dp is above the row's mean gets a positive ds.",
        **with_faults(softmax_vjp, "sign"),
    ),
    "p subtracted instead": Mistake(
        "You stored p · dp − p: that resembles p − y, the gradient of the cross-entropy through softmax, "
        "which belongs to that one loss.",
        "Subtract p times the row's inner product.",
        **with_faults(softmax_vjp, "p subtracted"),
    ),
    "padding of −inf": Mistake(
        "The padding is −inf, as in the forward kernel. Here it enters a product: −inf · −inf is ∞, the "
        "inner product becomes infinite, and the row with it.",
        "Padding must add nothing to Σ p dp: other=0.0.",
        **with_faults(softmax_vjp, "padding of −inf", also=("−inf up to 16 too",)),
    ),
    "inner product of the last block": Mistake(
        "The inner product is that of the row's last block alone: each block replaces what was summed.",
        "Add: acc += p * dp, and start from 0.",
        **with_faults(softmax_vjp, "last tile only"),
    ),
    "inner product without the last block": Mistake(
        "The last block of the row is missing from the inner product: its loop ends too early.",
        "range(0, N, BLOCK) reaches the last, incomplete block, too.",
        **with_faults(softmax_vjp, "ragged tile left out", also=("last tile left out",)),
    ),
    "load without a mask": Mistake(
        "The loads touch all BLOCK lanes: those from column N on lie beyond the row, and in the last row "
        "beyond the tensor.",
        "Pass mask=j < N and other=0.0 to both loads.",
        launcher=broken.backward_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides of p used for dp": Mistake(
        "Both loads use the strides of p. dp is a tensor of its own: autograd hands you whatever layout it "
        "has.",
        "Address dp with dp_row and dp_col.",
        launcher=broken.backward_with_one_stride_for_two,
        status=Status.OUT_OF_BOUNDS,
    ),
    "sum in half precision": Mistake(
        "The product and its sum are computed in half precision. Where dp has a large mean, dp − ⟨p, dp⟩ "
        "cancels most digits, and only the rounding errors stay.",
        "Compute in fp32 from the loads to the store: .to(tl.float32) right after each tl.load.",
        launcher=broken.backward_in_half_precision,
    ),
}
