"""`softmax_vjp`: the gradient through softmax, without the matrix."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.lesson_02_softmax.symbolic_rows import EXAMPLE_DERIVATIVES, ROWS, shares
from flashlearn.lessons.shared.softmax_in_symbols import derivatives, vjp


def _by_bracket(bracket):
    """A wrong VJP from the number that it subtracts: p ∘ (dp − bracket(p, dp))."""
    return lambda p, dp: p.multiply_elementwise(dp - sp.ones(p.rows, 1) * bracket(p, dp))


MISTAKES = {
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
        "The two agree for every dp only where all probabilities are equal. Try p = (1/6, 1/3, 1/2).",
        wrong=_by_bracket(lambda p, dp: sum(dp) / p.rows),
    ),
    "p in front forgotten": Mistake(
        "You returned dp − ⟨p, dp⟩, without the factor p_j in front.",
        "The term −p pᵀ dp is −p times a number: both terms carry a p_j.",
        wrong=lambda p, dp: dp - sp.ones(p.rows, 1) * p.dot(dp),
    ),
    "p on dp alone": Mistake(
        "You returned p · dp − ⟨p, dp⟩: the inner product is subtracted without the factor p.",
        "Both terms carry a p_j.",
        wrong=lambda p, dp: p.multiply_elementwise(dp) - sp.ones(p.rows, 1) * p.dot(dp),
    ),
    "only the diagonal of J": Mistake(
        "You returned p (1 − p) dp, entry by entry: the diagonal of J alone, as for a sigmoid.",
        "dp_k reaches ds_j for k other than j, too, through J_kj = −p_k p_j.",
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
    "log softmax's own formula": Mistake(
        "You returned dp − p Σ dp: the gradient through the logarithm of softmax. Here dp arrives at the "
        "probabilities themselves.",
        "p_k is exp(log p_k): what becomes of dp_k on its way to log p_k?",
        wrong=lambda p, dp: dp - p * sum(dp),
    ),
    "p subtracted instead": Mistake(
        "You subtracted p itself, as in p − y, the gradient of the cross-entropy through softmax. That "
        "formula belongs to that one loss; here dp may be anything.",
        "Multiply out (diag(p) − p pᵀ) dp for a general dp.",
        wrong=lambda p, dp: p.multiply_elementwise(dp) - p,
    ),
}


def vjp_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p, and dp: (1, −2, 0) in "example", symbols otherwise."""
    p = shares(case)
    return {"p": p, "dp": EXAMPLE_DERIVATIVES if case.data == "example" else derivatives(p.rows)}


softmax_vjp = Exercise(
    name="softmax_vjp",
    lesson="02",
    kind=Kind.SYMBOLIC,
    title="The gradient through softmax, without the matrix",
    signature="(p, dp) -> ds",
    outputs=("ds",),
    inputs=vjp_inputs,
    cases=ROWS,
    judged=HowJudged(
        reference=vjp,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
