"""`lse_identity`: one number per row, and the softmax from it."""
# ruff: noqa: E741  (l is the sum's name in the papers, in the lesson and in the kernels)

from __future__ import annotations

import sympy as sp

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.later import torch
from flashlearn.lessons.shared.cases import build_case


def identity(s: sp.Matrix, m: sp.Expr, l: sp.Expr) -> tuple[sp.Expr, sp.Matrix]:
    """LSE = m + log l, and p_j = exp(s_j − LSE)."""
    lse = m + sp.log(l)
    return lse, s.applyfunc(lambda s_j: sp.exp(s_j - lse))


def _identity(lse=lambda m, l: m + sp.log(l), p=lambda s, m, l, value: sp.exp(s - value)):
    """A wrong answer from its lse(m, l), and its p(s_j, m, l, lse)."""

    def answer(s, m, l):
        value = lse(m, l)
        return value, s.applyfunc(lambda s_j: p(s_j, m, l, value))

    return answer


def _by_lse(lse) -> dict:
    """A wrong LSE, and p made from it or, right, without it."""
    return {
        "wrong": _identity(lse),
        "also": (_identity(lse, lambda s, m, l, value: sp.exp(s - m) / l),),
    }


MISTAKES = {
    "logarithm of l forgotten": Mistake(
        "Your LSE is m + l. The sum is exp(m) · l, and the logarithm of a product is the sum of the "
        "logarithms.",
        "Take the logarithm of both factors: log exp(m) is m. What is the other?",
        **_by_lse(lambda m, l: m + l),
    ),
    "maximum not added back": Mistake(
        "Your LSE is log l, the logarithm of the sum after m was subtracted from every score.",
        "Σ exp(s_j) = exp(m) · l: the factor that was taken out has to come back in.",
        **_by_lse(lambda m, l: sp.log(l)),
    ),
    "logarithm of m + l": Mistake(
        "Your LSE is log(m + l). In m + log l, m is a logarithm already; only l needs one.",
        "Write the sum as exp(m) · l, then take the logarithm factor by factor.",
        **_by_lse(lambda m, l: sp.log(m + l)),
    ),
    "m times log l": Mistake(
        "Your LSE is m · log l. The logarithm turns the product exp(m) · l into a sum.",
        "log(a · b) = log a + log b.",
        **_by_lse(lambda m, l: m * sp.log(l)),
    ),
    "minus log l": Mistake(
        "Your LSE is m − log l, which would decrease when a score is added.",
        "Each additional score makes the sum larger, and so its logarithm.",
        **_by_lse(lambda m, l: m - sp.log(l)),
    ),
    "maximum subtracted": Mistake(
        "Your LSE is log l − m: the maximum has the wrong sign.",
        "exp(s_j) = exp(m) · exp(s_j − m): by which factor is l too small, and what is its logarithm?",
        **_by_lse(lambda m, l: sp.log(l) - m),
    ),
    "base-2 logarithm": Mistake(
        "Your LSE adds log2 l to m, but m is in natural units, so the two cannot be added.",
        "Which logarithm undoes exp(m)?",
        **_by_lse(lambda m, l: m + sp.log(l) / sp.log(2)),
    ),
    "divided by the LSE": Mistake(
        "p is exp(s_j) / LSE. The LSE is the logarithm of the denominator.",
        "Dividing by exp(LSE) is the same as subtracting LSE in the exponent.",
        wrong=_identity(p=lambda s, m, l, value: sp.exp(s) / value),
    ),
    "normalised twice": Mistake(
        "p is exp(s_j − LSE) / l: it has already been divided by the row's sum.",
        "LSE already contains log l: there is nothing left to divide by.",
        wrong=_identity(p=lambda s, m, l, value: sp.exp(s - value) / l),
    ),
    "p without the maximum": Mistake(
        "p is exp(s_j) / l: l is a sum of exp(s_j − m), so your p is exp(m) times too large.",
        "Subtract the whole LSE in the exponent: it contains both m and log l.",
        wrong=_identity(p=lambda s, m, l, value: sp.exp(s) / l),
    ),
}


def any_row(N: int, what: str = "any s and m") -> Case:
    """A row of N symbols."""
    return build_case(what, {"N": N}, note=f"N = {N}", data="symbols")


def identity_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """A column s, a number m that is subtracted from it, and l = Σ exp(s_j − m)."""
    if case.data == "symbols":
        s = sp.Matrix(sp.symbols(f"s_1:{case.sizes['N'] + 1}", real=True))
        m = sp.Symbol("m", real=True)
    else:
        s = sp.Matrix([0, sp.log(2), sp.log(3)])
        m = sp.log(3) if case.data == "maximum" else sp.S.Zero
    return {"s": s, "m": m, "l": sum(sp.exp(s_j - m) for s_j in s)}


lse_identity = Exercise(
    name="lse_identity",
    lesson="04",
    kind=Kind.SYMBOLIC,
    title="One number per row, and the softmax from it",
    signature="(s, m, l) -> (lse, p)",
    outputs=("lse", "p"),
    inputs=identity_inputs,
    cases=(
        Case("s = (0, log 2, log 3), m = log 3", {"N": 3}, data="maximum"),
        Case("the same s, m = 0", {"N": 3}, data="zero"),
        any_row(2),
        any_row(3),
        any_row(1, what=""),
    ),
    judged=HowJudged(
        reference=identity,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
)
