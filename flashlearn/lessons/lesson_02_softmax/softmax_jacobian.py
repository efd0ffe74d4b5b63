"""`softmax_jacobian`: the matrix of softmax's derivatives."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.lesson_02_softmax.symbolic_rows import ROWS, shares


def jacobian(p: sp.Matrix) -> sp.Matrix:
    """J = diag(p) − p pᵀ: entry (k, j) is ∂p_k/∂s_j."""
    return sp.diag(*p) - p * p.T


def _by_entries(entry):
    """A wrong Jacobian from its entries: entry(p_k, p_j, k == j)."""
    return lambda p: sp.Matrix(p.rows, p.rows, lambda k, j: entry(p[k], p[j], k == j))


MISTAKES = {
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
        "Your diagonal is 1 − p_k²: you have the identity where diag(p) belongs.",
        "Differentiate the numerator e^{s_k} by its own score, and divide by the sum: is that 1, or p_k?",
        wrong=lambda p: sp.eye(p.rows) - p * p.T,
    ),
    "one share squared": Mistake(
        "Off the diagonal you multiply a share by itself. The entry there is the product of two different "
        "shares: −p_k p_j.",
        "In entry (k, j), which share is differentiated, and with respect to whose score?",
        wrong=_by_entries(lambda a, b, same: a * (1 - a) if same else -a * a),
        also=(_by_entries(lambda a, b, same: a * (1 - a) if same else -b * b),),
    ),
    "one share off the diagonal": Mistake(
        "Off the diagonal your entries have only one share. They are products of two: −p_k p_j.",
        "The derivative of e^{s_k} / Σ by s_j, with j ≠ k: which two quotients does it contain?",
        wrong=_by_entries(lambda a, b, same: a * (1 - a) if same else -a),
        also=(_by_entries(lambda a, b, same: a * (1 - a) if same else -b),),
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
        "The diagonal's formula p (1 − p) is in every place: entry (k, j) is p_k (1 − p_j) also where k ≠ j.",
        "Only where k = j does the numerator contribute. Check one row: its entries must sum to 0.",
        wrong=_by_entries(lambda a, b, same: a * (1 - b)),
    ),
    "⟨p, p⟩ in place of p pᵀ": Mistake(
        "One number is subtracted everywhere from diag(p), ⟨p, p⟩ = p_0² + p_1² + …, instead of the "
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


def jacobian_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p, a column of N probabilities."""
    return {"p": shares(case)}


softmax_jacobian = Exercise(
    name="softmax_jacobian",
    lesson="02",
    kind=Kind.SYMBOLIC,
    title="The matrix of softmax's derivatives",
    signature="(p) -> J",
    outputs=("J",),
    inputs=jacobian_inputs,
    cases=ROWS,
    judged=HowJudged(
        reference=jacobian,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
