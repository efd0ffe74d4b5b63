"""`attention_dq_dk`: back through S = alpha Q Kᵀ."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.lesson_03_attention_backward.symbolic_matrices import (
    DS_IN_FRACTIONS,
    SIZES,
    exact,
    symbol_matrix,
    the_example,
)
from flashlearn.lessons.shared import example
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula


def dq_dk_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q [S_q, D], k [S_k, D], ds [S_q, S_k], alpha: the running example's numbers, or symbols."""
    if case.data == "example":
        given = example.symbolic()
        return {"q": given.Q, "k": given.K, "ds": exact(DS_IN_FRACTIONS), "alpha": given.alpha}
    S_q, S_k, D = (case.sizes[name] for name in ("S_q", "S_k", "D"))
    alpha = sp.Symbol("alpha", real=True, nonzero=True)
    return {
        "q": symbol_matrix("Q", S_q, D),
        "k": symbol_matrix("K", S_k, D),
        "ds": symbol_matrix("dS", S_q, S_k),
        "alpha": alpha,
    }


def dq_dk(q: sp.Matrix, k: sp.Matrix, ds: sp.Matrix, alpha: sp.Expr) -> tuple[sp.Matrix, sp.Matrix]:
    """dQ = alpha dS K and dK = alpha dSᵀ Q, from S = alpha Q Kᵀ."""
    return alpha * ds * k, alpha * ds.T * q


def faulty_dq_dk(q, k, ds, alpha, faults: Faults = NONE) -> tuple[sp.Matrix, sp.Matrix]:
    """dQ and dK of S = alpha Q Kᵀ with faults by name."""

    def scale(output):
        power = 1 - (f"none in {output}" in faults) + (f"twice in {output}" in faults)
        return alpha ** (-1 if "divided" in faults else power)

    dk = q.T * ds if "dK turned" in faults else ds.T * q
    return scale("dQ") * ds * k, scale("dK") * dk


formula = faulty_formula(faulty_dq_dk)

MISTAKES = {
    "alpha forgotten": Mistake(
        "Neither dQ nor dK has the factor alpha.",
        "S = alpha Q Kᵀ: move Q by a little, and S moves alpha times as much as Q Kᵀ.",
        **formula("none in dQ", "none in dK"),
    ),
    "alpha forgotten in dK": Mistake(
        "The factor alpha is missing in dK.",
        "S = (alpha Q) Kᵀ = Q (alpha K)ᵀ: alpha belongs to both factors alike.",
        **formula("none in dK"),
    ),
    "alpha forgotten in dQ": Mistake(
        "The factor alpha is missing in dQ.",
        "S = (alpha Q) Kᵀ = Q (alpha K)ᵀ: alpha belongs to both factors alike.",
        **formula("none in dQ"),
    ),
    "alpha applied twice": Mistake(
        "Both have alpha squared: it was multiplied in twice.",
        "alpha occurs once in S = alpha Q Kᵀ, so once in each derivative.",
        **formula("twice in dQ", "twice in dK"),
    ),
    "alpha twice in dK": Mistake(
        "dK has the factor alpha twice.",
        "alpha occurs once in S = alpha Q Kᵀ, so once in each derivative.",
        **formula("twice in dK"),
    ),
    "alpha twice in dQ": Mistake(
        "dQ has the factor alpha twice.",
        "alpha occurs once in S = alpha Q Kᵀ, so once in each derivative.",
        **formula("twice in dQ"),
    ),
    "dK transposed": Mistake(
        "Your dK is a multiple of Qᵀ dS, as the gradient of Kᵀ is. The gradient of K has K's own shape.",
        "The second factor in S = alpha Q Kᵀ is Kᵀ, so the rule for a product gives the gradient of Kᵀ. "
        "How does K's follow from it?",
        **formula("dK turned"),
    ),
    "divided by alpha": Mistake(
        "You divided by alpha. The factor of the forward pass is the factor of the backward pass.",
        "The derivative of alpha · x by x is alpha, not 1/alpha.",
        **formula("divided"),
    ),
}

attention_dq_dk = Exercise(
    name="attention_dq_dk",
    lesson="03",
    kind=Kind.SYMBOLIC,
    title="Back through S = alpha Q Kᵀ",
    signature="(q, k, ds, alpha) -> (dq, dk)",
    outputs=("dq", "dk"),
    inputs=dq_dk_inputs,
    cases=(the_example("Q and K"), *SIZES),
    judged=HowJudged(
        reference=dq_dk,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
