"""`attention_dv_dp`: back through O = P V."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.lesson_03_attention_backward.symbolic_matrices import (
    P_IN_FRACTIONS,
    SIZES,
    exact,
    symbol_matrix,
    the_example,
)
from flashlearn.lessons.shared import example


def dv_dp_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p [S_q, S_k], v [S_k, D], do [S_q, D]: the running example's numbers, or symbols."""
    if case.data == "example":
        given = example.symbolic()
        return {"p": exact(P_IN_FRACTIONS), "v": given.V, "do": given.dO}
    S_q, S_k, D = (case.sizes[name] for name in ("S_q", "S_k", "D"))
    return {
        "p": symbol_matrix("P", S_q, S_k),
        "v": symbol_matrix("V", S_k, D),
        "do": symbol_matrix("dO", S_q, D),
    }


def dv_dp(p: sp.Matrix, v: sp.Matrix, do: sp.Matrix) -> tuple[sp.Matrix, sp.Matrix]:
    """dV = Pᵀ dO and dP = dO Vᵀ, from O = P V."""
    return p.T * do, do * v.T


def _centred(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    """P ∘ (dP − delta), row by row."""
    delta = [p.row(i).dot(dp.row(i)) for i in range(p.rows)]
    return sp.Matrix(p.rows, p.cols, lambda i, j: p[i, j] * (dp[i, j] - delta[i]))


MISTAKES = {
    "P forgotten in dV": Mistake(
        "Every key gets the same dV: you summed the rows of dO as they are. Query i uses V_j in proportion "
        "to P_ij, and its gradient comes back in the same proportion.",
        "Write out O_i = Σ_j P_ij V_j: with which weight does V_j enter O_i?",
        wrong=lambda p, v, do: (sp.ones(p.cols, p.rows) * do, do * v.T),
    ),
    "dV averaged over the queries": Mistake(
        "Your dV is divided by the number of queries. Every query uses V_j, so V_j receives S_q "
        "gradients, and they are added.",
        "Leave the division out. A mean belongs only to a loss that is a mean.",
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

attention_dv_dp = Exercise(
    name="attention_dv_dp",
    lesson="03",
    kind=Kind.SYMBOLIC,
    title="Back through O = P V",
    signature="(p, v, do) -> (dv, dp)",
    outputs=("dv", "dp"),
    inputs=dv_dp_inputs,
    cases=(the_example("V and dO"), *SIZES),
    judged=HowJudged(
        reference=dv_dp,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
