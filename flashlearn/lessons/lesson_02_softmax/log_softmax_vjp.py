"""`log_softmax_vjp`: the gradient through the logarithm of softmax."""

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.lesson_02_softmax.symbolic_rows import EXAMPLE_DERIVATIVES, ROWS, shares


def log_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds = dlog − p Σ_k dlog_k: ∂ log p_k/∂s_j is 1 − p_j for k = j and −p_j otherwise."""
    return dlog - p * sum(dlog)


def _times_p_on_the_way(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    dp = p.multiply_elementwise(dlog)
    return p.multiply_elementwise(dp - sp.ones(p.rows, 1) * p.dot(dp))


MISTAKES = {
    "softmax's own formula": Mistake(
        "You returned p ∘ (dlog − ⟨p, dlog⟩): the gradient through softmax. Here the gradient arrives at the "
        "logarithms of the shares.",
        "Differentiate log p_k = s_k − log Z, not p_k.",
        wrong=lambda p, dlog: p.multiply_elementwise(dlog - sp.ones(p.rows, 1) * p.dot(dlog)),
    ),
    "times p": Mistake(
        "You returned p ∘ (dlog − Σ dlog): softmax's gradient has that factor p, on both terms. Here only "
        "the sum is split in proportion to p; dlog_j itself reaches score j undivided.",
        "∂ log p_j/∂s_j is 1 − p_j: which of its two terms has a p?",
        wrong=lambda p, dlog: p.multiply_elementwise(dlog - sp.ones(p.rows, 1) * sum(dlog)),
    ),
    "one class": Mistake(
        "You returned dlog − p. That is right where dlog is 1 at one class and 0 elsewhere, as in a "
        "cross-entropy loss: there its sum is 1. Any dlog may arrive here.",
        "By what is p multiplied, if the entries of dlog do not sum to 1?",
        wrong=lambda p, dlog: dlog - p,
    ),
    "one class of a loss": Mistake(
        "You returned p + dlog. That is right where dlog is −1 at one class and 0 elsewhere, as in a "
        "cross-entropy loss: there its sum is −1. Any dlog may arrive here.",
        "By what is p multiplied, if the entries of dlog do not sum to −1?",
        wrong=lambda p, dlog: p + dlog,
    ),
    "one class and the sign": Mistake(
        "You returned p − dlog: the gradient of a cross-entropy loss, if dlog is 1 at its class. Here dlog "
        "is what has arrived, with its sign, and its entries need not sum to 1.",
        "Which sign does the path from s_j to its own logarithm have?",
        wrong=lambda p, dlog: p - dlog,
    ),
    "log Z forgotten": Mistake(
        "You returned dlog unchanged: that is the contribution of the term s_k. The term −log Z is missing.",
        "Every score is part of Z: what is ∂ log Z/∂s_j?",
        wrong=lambda p, dlog: dlog,
    ),
    "weighted by p": Mistake(
        "You subtracted p times the mean of dlog under p. Every log p_k depends on score j through −log Z, "
        "with the same derivative −p_j for every k: so dlog is summed without weights.",
        "Write out Σ_k dlog_k ∂ log p_k/∂s_j for N = 2. Where does p_k come in?",
        wrong=lambda p, dlog: dlog - p * p.dot(dlog),
    ),
    "weighted by p, and added": Mistake(
        "You returned dlog + p ⟨p, dlog⟩. Two things are not right: the sum of dlog is weighted with "
        "p, and p times the sum is added.",
        "log p_k is s_k minus log Z, with the same derivative −p_j of its second term for every k.",
        wrong=lambda p, dlog: dlog + p * p.dot(dlog),
    ),
    "multiplied by p on the way": Mistake(
        "You returned softmax's own gradient of p ∘ dlog. On the way from log p to p the gradient is divided "
        "by p: ∂ log p_k/∂p_k is 1/p_k.",
        "dp_k = dlog_k / p_k. Put that into p ∘ (dp − ⟨p, dp⟩): what is left?",
        wrong=_times_p_on_the_way,
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
        "⟨p, dlog⟩ is subtracted from every entry: the sum of dlog_k p_k, where that of dlog_k p_j belongs. "
        "The Jacobian J_kj = δ_kj − p_j is not symmetric, unlike that of softmax.",
        "In ds_j = Σ_k dlog_k J_kj, which of the two indices is the score's, and which is summed over?",
        wrong=lambda p, dlog: dlog - sp.ones(p.rows, 1) * p.dot(dlog),
    ),
    "only the diagonal of J": Mistake(
        "You returned (1 − p) dlog, entry by entry: the diagonal of J alone.",
        "dlog_k reaches ds_j for k other than j, too, through log Z. What is ∂ log p_k/∂s_j there?",
        wrong=lambda p, dlog: sp.Matrix([(1 - a) * b for a, b in zip(p, dlog, strict=True)]),
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


def log_vjp_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """p, and the gradient by log p: (1, −2, 0) in "example", symbols otherwise."""
    p = shares(case)
    symbols = sp.Matrix(sp.symbols(f"dlog_1:{p.rows + 1}", real=True))
    return {"p": p, "dlog": EXAMPLE_DERIVATIVES if case.data == "example" else symbols}


log_softmax_vjp = Exercise(
    name="log_softmax_vjp",
    lesson="02",
    kind=Kind.SYMBOLIC,
    title="The gradient through the logarithm of softmax",
    signature="(p, dlog) -> ds",
    outputs=("ds",),
    inputs=log_vjp_inputs,
    cases=ROWS,
    judged=HowJudged(
        reference=log_vjp,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
