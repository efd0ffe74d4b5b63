"""`lse_gradient`: a loss that also uses LSE."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.lesson_03_attention_backward.symbolic_matrices import P_IN_FRACTIONS, exact
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.softmax_in_symbols import derivatives, probabilities, vjp


def lse_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """One query's p and dp, columns of N, and dlse, a number: exact in "example", symbols otherwise."""
    if case.data == "example":
        return {"p": exact(P_IN_FRACTIONS[:1]).T, "dp": sp.Matrix([1, -2, 0]), "dlse": sp.Integer(2)}
    n = case.sizes["N"]
    return {"p": probabilities(n), "dp": derivatives(n), "dlse": sp.Symbol("dlse", real=True)}


def lse_vjp(p: sp.Matrix, dp: sp.Matrix, dlse: sp.Expr) -> sp.Matrix:
    """ds = p ∘ (dp − (delta − dlse)) with delta = ⟨p, dp⟩: one query's scores, by way of p and of LSE."""
    return vjp(p, dp) + dlse * p


def _by_bracket(bracket, outside=lambda p, dlse: 0):
    """A wrong ds from what is added to dp in the bracket, and from what is added outside."""

    def wrong(p, dp, dlse):
        inside = dp + sp.ones(p.rows, 1) * bracket(p, dp, dlse)
        return p.multiply_elementwise(inside) + sp.ones(p.rows, 1) * outside(p, dlse)

    return wrong


MISTAKES = {
    "dLSE forgotten": Mistake(
        "You returned p ∘ (dp − delta): what comes through O. The part that comes through LSE is missing, "
        "or it cancelled: it does where one number is added to all of dp before delta is computed.",
        "What is the derivative of log Σ_l exp(s_l) by s_j?",
        wrong=_by_bracket(lambda p, dp, dlse: -p.dot(dp)),
    ),
    "the sign of dLSE": Mistake(
        "You subtracted dlse. Raising a score raises LSE: its part of the gradient has the sign of dlse.",
        "∂LSE/∂s_j is p_j, not −p_j.",
        wrong=_by_bracket(lambda p, dp, dlse: -p.dot(dp) - dlse),
    ),
    "dLSE without p": Mistake(
        "You added dlse to the gradient of every score. Score j contributes to LSE in proportion to p_j.",
        "∂LSE/∂s_j = exp(s_j) / Σ_l exp(s_l). What is that called?",
        wrong=_by_bracket(lambda p, dp, dlse: -p.dot(dp), outside=lambda p, dlse: dlse),
    ),
    "the same share of dLSE for every score": Mistake(
        "You added dlse divided by the number of keys to every score. Score j contributes to LSE in "
        "proportion to p_j, so it gets dlse · p_j.",
        "∂LSE/∂s_j = exp(s_j) / Σ_l exp(s_l). What is that called?",
        wrong=_by_bracket(lambda p, dp, dlse: -p.dot(dp), outside=lambda p, dlse: dlse / p.rows),
    ),
    "dLSE through the softmax": Mistake(
        "You added dlse · p to dp, and so it passed through the softmax's backward pass, as if LSE were "
        "computed from p. LSE is computed from the scores.",
        "Add dlse · p to ds, after the backward pass of the softmax.",
        wrong=lambda p, dp, dlse: vjp(p, dp + dlse * p),
    ),
    "the plain mean for delta": Mistake(
        "Your delta is the plain mean of dp, Σ_j dp_j / N. It is the mean weighted by p, Σ_j p_j dp_j.",
        "delta = ⟨p, dp⟩: p already sums to one, so nothing is divided by N.",
        wrong=_by_bracket(lambda p, dp, dlse: -sum(dp) / p.rows + dlse),
    ),
    "the plain sum for delta": Mistake(
        "Your delta is the plain sum of dp. It is the mean weighted by p, Σ_j p_j dp_j.",
        "delta = ⟨p, dp⟩: which factor does each dp_j come with?",
        wrong=_by_bracket(lambda p, dp, dlse: -sum(dp) + dlse),
    ),
    "the sign of delta": Mistake(
        "You added delta. It is subtracted: through the softmax, dp becomes p ∘ (dp − delta).",
        "With dlse = 0 the entries of ds sum to zero. Do yours?",
        wrong=_by_bracket(lambda p, dp, dlse: p.dot(dp) + dlse),
    ),
    "delta forgotten": Mistake(
        "delta, the mean of dp under p, is missing: the part that comes through p is p ∘ dp.",
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


def row(N: int, what: str = "any p") -> Case:
    """One query with N keys."""
    return build_case(what, {"N": N}, note=f"N = {N}")


lse_gradient = Exercise(
    name="lse_gradient",
    lesson="03",
    kind=Kind.SYMBOLIC,
    title="A loss that also uses LSE",
    signature="(p, dp, dlse) -> ds",
    outputs=("ds",),
    inputs=lse_inputs,
    cases=(
        Case("p = (1/6, 1/3, 1/2), dp = (1, −2, 0), dlse = 2", {"N": 3}, data="example"),
        row(2),
        row(3),
        row(1, what=""),
    ),
    judged=HowJudged(
        reference=lse_vjp,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
