"""`attention_backward`: the whole backward pass in formulas, in torch."""

from __future__ import annotations

import torch
from torch import Tensor

from flashlearn.exercise import Case, Earlier, Exercise, HowExplained, HowJudged, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_03_attention_backward.one_head import (
    EXAMPLE_SIZES,
    backward_inputs,
    shape_in_words,
)
from flashlearn.lessons.shared import reference
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, faulty_formula
from flashlearn.lessons.shared.own_formulas import one_evaluation, unforeseen
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import PlainCall


def backward(q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor]:
    """(dQ, dK, dV) of O = softmax(alpha Q Kᵀ) V, from dO: matrices [S, D]."""
    o, lse = reference.attention_forward(q, k, v, alpha)
    return reference.attention_gradients(q, k, v, o, do, lse, alpha)


def backward_without_lse(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with softmax in place of exp(S − LSE), and delta from P and dP."""
    p = reference.softmax(alpha * (q @ k.T))
    ds = reference.softmax_backward(p, do @ v.T)
    return alpha * (ds @ k), alpha * (ds.T @ q), p.T @ do


def backward_prescaled(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, alpha: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same with alpha multiplied into Q beforehand: dK then has it already, dQ gets it at the end."""
    scaled = alpha * q
    p = reference.softmax_base2(scaled @ k.T)
    ds = reference.softmax_backward_expanded(p, do @ v.T)
    return alpha * (ds @ k), ds.T @ scaled, p.T @ do


CLIPPED = {f"clipped at {size}": float(size) for size in (80, 50, 60, 88, 85, 70, 40, 30, 20, 10)}
"""Largest scores that some answers let through, so that exp does not overflow."""


def faulty_backward(
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
    for name, largest in CLIPPED.items():
        if name in faults:
            p = torch.softmax(s.clamp(max=largest), dim=1)
        if f"{name}, from below as well" in faults:
            p = torch.softmax(s.clamp(-largest, largest), dim=1)
    if "exponentials of S" in faults:
        p = s.exp()
    if "exponentials of S − m" in faults:
        p = (s - s.amax(dim=1, keepdim=True)).exp()
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


formula = faulty_formula(faulty_backward)

ALPHA_IN_BOTH = "S = alpha Q Kᵀ is linear in both factors: dQ and dK contain alpha, once each."
MISTAKES = {
    "delta forgotten": Mistake(
        "dS is P ∘ dP: delta is missing. dV does not use dS.",
        "Subtract each row's delta_i = Σ_j P_ij dP_ij.",
        **formula("no delta"),
    ),
    "delta without P": Mistake(
        "What is subtracted comes out as the plain sum of each row of dP. delta is weighted: Σ_j P_ij dP_ij.",
        "Sum P * dP, not dP.",
        **formula("delta is the sum of dP"),
    ),
    "delta as a plain mean": Mistake(
        "You subtracted the plain mean of each row of dP. The mean is taken under P: Σ_j P_ij dP_ij.",
        "Sum P * dP, and divide by nothing.",
        **formula("delta is the mean of dP"),
    ),
    "delta over the queries": Mistake(
        "Your delta is summed over the queries, one number per key. There is one per query: a row of P is "
        "one distribution.",
        "Which dimension of P ∘ dP counts keys?",
        **formula("delta over the queries"),
    ),
    "one delta for all queries": Mistake(
        "Your delta is one number for the whole matrix: the sum over all rows.",
        "delta has one number per query.",
        **formula("one delta"),
    ),
    "P in front forgotten": Mistake(
        "dS is dP − delta, without the factor P in front.",
        "dS_ij = P_ij (dP_ij − delta_i): both terms of the softmax's Jacobian carry a P_ij.",
        **formula("no P in front"),
    ),
    "alpha forgotten in dQ": Mistake(
        "dQ lacks the factor alpha.", ALPHA_IN_BOTH, **formula("no alpha in dQ")
    ),
    "alpha forgotten in dK": Mistake(
        "dK lacks the factor alpha.", ALPHA_IN_BOTH, **formula("no alpha in dK")
    ),
    "alpha forgotten in both": Mistake(
        "dQ and dK both lack the factor alpha.",
        ALPHA_IN_BOTH,
        **formula("no alpha in dQ", "no alpha in dK"),
    ),
    "alpha applied twice": Mistake(
        "alpha is applied twice, so that its square is in the result.",
        ALPHA_IN_BOTH,
        **formula("alpha twice"),
    ),
    "scores without alpha": Mistake(
        "P is that of Q Kᵀ without alpha, so everything that uses P is off.",
        "S = alpha Q Kᵀ comes before the softmax; the same alpha appears again in dQ and dK.",
        **formula("scores without alpha"),
    ),
    "softmax over the queries": Mistake(
        "The columns of P sum to one, where its rows should: the softmax runs over the queries.",
        "A query distributes its attention over the keys: which dimension of S counts those?",
        **formula("softmax over the queries"),
    ),
    "maximum not subtracted": Mistake(
        "Large scores give NaN, as they do without the row's own maximum subtracted: the "
        "exponential of a number beyond 88.7 is infinite in fp32, and ∞/∞ is NaN.",
        "With each row's maximum subtracted, the largest exponential is exp(0) = 1.",
        **formula("exp without maximum"),
    ),
    "scores clipped": Mistake(
        "Large scores are cut off at some maximum, as a clamp before the exponential does: scores above "
        "it all count the same.",
        "exp must not overflow: subtract each row's maximum from its scores, which changes nothing in P.",
        **formula(
            "clipped at 80",
            also=(*list(CLIPPED)[1:], *(f"{name}, from below as well" for name in CLIPPED)),
        ),
    ),
    "P not normalised": Mistake(
        "The rows of P do not sum to 1: they are the exponentials, which are not divided by their sum over "
        "the keys.",
        "P_ij = exp(S_ij) / Σ_l exp(S_il), or exp(S_ij − LSE_i).",
        **formula("exponentials of S − m", also=("exponentials of S",)),
    ),
    "maximum before alpha": Mistake(
        "The results are as if the maximum of Q Kᵀ were taken, before alpha comes in. With a negative alpha "
        "that is the smallest score, and the exponentials overflow.",
        "What is subtracted is the maximum of alpha Q Kᵀ.",
        **formula("maximum before alpha"),
    ),
    "P in place of dS in dK": Mistake(
        "Your dK is alpha Pᵀ Q: the probabilities are used where the scores' gradient dS belongs.",
        "dV is Pᵀ times a gradient; dK is dSᵀ times Q. They look alike, and one matrix differs.",
        **formula("P for dS"),
    ),
}


def differentiates(answer: Answer, earlier: Earlier) -> str:
    """A sentence if the answer leaves the work to autograd in any case: inference mode rules it out.

    What torch.autograd.functional gives there is zero, and no error; so the numbers have to be right, for
    inputs that no answer has met before.
    """
    drawn = (attention_backward.inputs(case, unforeseen()) for case in attention_backward.cases)
    if all(_is_right_without(answer, inputs) for inputs in drawn):
        return ""
    return (
        "The numbers are right, but autograd computed them. Here the formulas must: dV, dP, "
        "delta, dS, dQ and dK, one line each."
    )


def _is_right_without(answer: Answer, inputs: Inputs) -> bool:
    without = answer.run(inputs, PlainCall(autograd="inference"))
    wide = {name: one.double() if isinstance(one, Tensor) else one for name, one in inputs.items()}
    return without.raised is None and all(
        isinstance(out.value, Tensor) and _is_near(out.value.double(), right)
        for out, right in zip(without.outputs, backward(**wide), strict=True)
    )


def _is_near(found: Tensor, right: Tensor) -> bool:
    """Whether two agree but for rounding, of whichever numbers they are sums."""
    return found.shape == right.shape and bool((found - right).abs().max() <= 1e-2 * (1 + right.abs().max()))


def head(S_q: int, S_k: int, D: int, data: str = "normal", **more: object) -> Case:
    """One head of normally distributed numbers."""
    tags = {"S_q ≠ S_k": S_q != S_k, "large": False}
    note = "" if data == "normal" else data
    sizes = {"S_q": S_q, "S_k": S_k, "D": D}
    return build_case(shape_in_words(S_q, S_k, D), sizes, note=note, tags=tags, data=data, **more)


attention_backward = Exercise(
    name="attention_backward",
    lesson="03",
    kind=Kind.TORCH,
    title="The backward pass in formulas",
    signature="(q, k, v, do, alpha) -> (dq, dk, dv)",
    outputs=("dq", "dk", "dv"),
    inputs=backward_inputs,
    cases=(
        head(7, 5, 4, seed=1),
        Case("the running example", EXAMPLE_SIZES, data="example"),
        head(5, 9, 3, seed=2),
        head(6, 6, 6, seed=3),
        head(1, 4, 2, seed=4),
        head(4, 1, 2, seed=5),
        head(37, 20, 24, seed=6),
        head(8, 5, 4, data="negative alpha", seed=7),
        head(6, 7, 4, data="scores beyond 100", magnitude=12.0, seed=8),
        head(7, 6, 4, data="negative alpha", magnitude=12.0, seed=9),
    ),
    judged=HowJudged(
        reference=backward,
        twins=(backward_without_lse, backward_prescaled),
        gradient=True,
        seen=one_evaluation(backward, backward_inputs),
        review=differentiates,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
    points=2,
)
