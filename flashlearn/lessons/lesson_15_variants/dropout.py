"""`dropout`: attention whose weights are dropped at random, and dropped again in the backward pass."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_15_variants import dropout_formulas
from flashlearn.lessons.lesson_15_variants.both_passes import both, work_of
from flashlearn.lessons.lesson_15_variants.dropout_formulas import TILE_OFFSETS, dropout_attention
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case, forward_inputs
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula

formula = faulty_formula(dropout_attention)

NUMBER = "Each weight has one number, ((b · H + h) · S_q + i) · S_k + j."

MISTAKES = {
    "numbers counted within the tile": Mistake(
        "Every tile drops the same weights: the numbers that Philox is asked for are counted from the "
        "tile's first query and key.",
        "The i and j of a weight are counted from the head's first query and key, in every tile.",
        **formula(TILE_OFFSETS, also=((TILE_OFFSETS, "heads alike"), (TILE_OFFSETS, "heads a tile apart"))),
    ),
    "every head drops the same weights": Mistake(
        "The same weights are dropped in every head: b · H + h does not enter the numbers.",
        NUMBER,
        **formula("heads alike"),
    ),
    "every batch drops the same weights": Mistake(
        "The heads of every batch drop the same weights: h enters the numbers, and b does not.",
        NUMBER,
        **formula("batches alike"),
    ),
    "rows are S_q apart": Mistake(
        "The numbers of row i begin i · S_q after the head's first one here. A row has S_k weights.",
        NUMBER,
        **formula("rows S_q apart", also=(("rows S_q apart", "heads too"),)),
    ),
    "numbers go down the columns": Mistake(
        "The numbers run down the columns, j · S_q + i within a head. They should run along the rows.",
        NUMBER,
        **formula("positions turned"),
    ),
    "another mask for the gradients": Mistake(
        "The gradients are those of another mask: the backward pass does not drop what the forward pass "
        "dropped.",
        "A weight has the same seed and the same number in both passes.",
        **formula("another seed", also=("backward positions turned",)),
    ),
    "kept and dropped exchanged": Mistake(
        "What should be dropped is kept, and the rest is dropped.",
        "A weight stays if its random number is p or more.",
        **formula("dropped and kept exchanged"),
    ),
    "kept below 1 − p": Mistake(
        "You keep the right share of the weights, but not the right ones: you keep those whose random "
        "number is below 1 − p, and the exercise keeps those whose random number is p or more.",
        "A weight is dropped if its random number is below p.",
        **formula("the other end"),
    ),
    "1/(1 − p) forgotten": Mistake(
        "What is kept is not divided by 1 − p, in O, dV and dS alike: sums shrink by the factor 1 − p on "
        "average.",
        "What must be the mean of a weight over all seeds?",
        **formula("nothing scaled"),
    ),
    "1/(1 − p) forgotten in O": Mistake(
        "O is not divided by 1 − p; its gradients are.",
        "O = W V, where W = P ∘ M / (1 − p).",
        **formula("O not scaled"),
    ),
    "1/(1 − p) forgotten in dV": Mistake(
        "dV is not divided by 1 − p: it was made of P with gaps, and V met P with gaps divided by 1 − p.",
        "dV = Wᵀ dO, where W = P ∘ M / (1 − p).",
        **formula("dV not scaled"),
    ),
    "1/(1 − p) forgotten in dP": Mistake(
        "dP has the gaps and is not divided by 1 − p, so it does not fit delta, which has this factor.",
        "W = P ∘ M / (1 − p), so dP is dO Vᵀ ∘ M / (1 − p).",
        **formula("dP not scaled"),
    ),
    "multiplied by 1 − p": Mistake(
        "What is kept is multiplied by 1 − p instead of divided by it.",
        "What must be the mean of a weight over all seeds?",
        **formula("multiplied by 1 - p"),
    ),
    "divided by p": Mistake(
        "What is kept is divided by p, the probability of being dropped.",
        "With p = 0.1, which factor leaves the mean of a weight as it was?",
        **formula("divided by p"),
    ),
    "dropped before the sum": Mistake(
        "The sum of a row has the gaps as well: what is kept is divided by the sum of what is kept, and LSE "
        "is too small.",
        "Dropout comes after the softmax: all weights are in a row's sum.",
        **formula("l of what is kept", also=(("l of what is kept", "nothing scaled"),)),
    ),
    "dP without the gaps": Mistake(
        "dP = dO Vᵀ is used as it is: weights that were dropped get a gradient as if they had met V.",
        "W = P ∘ M / (1 − p): what is dP where M is 0?",
        **formula("dP not masked", also=(("dP not masked", "dP not scaled"),)),
    ),
    "dV without the gaps": Mistake(
        "dV is made of P without gaps: V's rows get a share of weights that they never met.",
        "dV = Wᵀ dO, where W = P ∘ M / (1 − p).",
        **formula("dV not masked", also=(("dV not masked", "dV not scaled"),)),
    ),
    "no dropout in the backward pass": Mistake(
        "The gradients are those of attention without gaps: dV is made of P, and dP is dO Vᵀ.",
        "O = W V with W = P ∘ M / (1 − p): dV is Wᵀ dO, and dP is dO Vᵀ ∘ M / (1 − p).",
        **formula("dP not masked", "dP not scaled", "dV not masked", "dV not scaled"),
    ),
    "scores dropped, not weights": Mistake(
        "Scores are dropped before the softmax: a score of 0 still gets a weight, and LSE is another.",
        "Dropout comes after the softmax: P gets the gaps, S does not.",
        **formula("scores dropped", also=(("scores dropped", "and their gradient"),)),
    ),
    "delta dropped too": Mistake(
        "Where a weight was dropped, dS comes out as 0. It should be −P delta there: a dropped weight still "
        "takes its share of the softmax's sum.",
        "dS = P ∘ (dP − delta): which of dP and delta has gaps?",
        **formula("delta masked"),
    ),
}


def dropout_case(S_q: int, S_k: int, D: int = 16, p: float = 0.25, **more: Any) -> Case:
    """A case of attention_case with its p, which is in its data."""
    return attention_case(S_q, S_k, D, data=f"p {p:g}", **more)


def dropout_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, do [B, H, S_q, D], k, v [B, H, S_k, D], p, seed, alpha."""
    given = forward_inputs(case, generator)
    sizes = case.sizes
    like_q = torch.randn(sizes["B"], sizes["H"], sizes["S_q"], sizes["D"], generator=generator)
    do = like_q.to(given["q"].dtype)
    p, seed = float(case.data.removeprefix("p ")), 1000 + case.seed
    tensors = {name: given[name] for name in "qkv"}
    return {**tensors, "do": do, "p": p, "seed": seed, "alpha": 1 / math.sqrt(sizes["D"])}


def all_pairs(inputs: Inputs) -> float:
    """Pairs of query and key over all heads."""
    B, H, S_q, _ = inputs["q"].shape
    return float(B * H * S_q * inputs["k"].shape[2])


def sdpa_with_dropout(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, p: float, seed: int, alpha: float
) -> tuple[Tensor, ...]:
    """Both passes of SDPA with dropout_p, whose random numbers are torch's own."""
    return both(lambda *qkv: scaled_dot_product_attention(*qkv, dropout_p=p, scale=alpha), do, q, k, v)


dropout = Exercise(
    name="dropout",
    lesson="15",
    kind=Kind.KERNEL,
    title="Dropout that is computed again",
    signature="(q, k, v, do, p, seed, alpha) -> (o, lse, dq, dk, dv)",
    outputs=("o", "lse", "dq", "dk", "dv"),
    inputs=dropout_inputs,
    cases=(
        dropout_case(16, 16, seed=1),
        dropout_case(37, 50, H=2, B=2, seed=2),
        dropout_case(70, 40, H=3, p=0.5, seed=3),
        dropout_case(20, 33, p=0.0, seed=4),
        dropout_case(1, 37, 8, H=2, p=0.1, seed=5),
        dropout_case(33, 20, 24, B=2, layout="strided", p=0.8, seed=6),
        dropout_case(64, 100, 32, dtype=FP16, p=0.1, seed=7),
        dropout_case(40, 64, 64, H=2, dtype=BF16, p=0.3, seed=8),
        dropout_case(1000, 700, 64, B=2, H=4, dtype=FP16, p=0.1, gpu=True, seed=9),
        dropout_case(500, 1024, 128, B=1, H=4, dtype=BF16, p=0.2, gpu=True, seed=10),
    ),
    judged=HowJudged(
        reference=dropout_attention,
        twins=(
            dropout_formulas.rounded_passes,
            dropout_formulas.in_another_order,
            dropout_formulas.scaled_first,
        ),
        gradient=True,
        output_dtypes={"lse": torch.float32},
        work=lambda inputs: work_of(inputs, all_pairs(inputs)),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=sdpa_with_dropout,
        peer_name="sdpa_dropout",
        case=dropout_case(4096, 4096, 128, B=2, H=16, dtype=BF16, p=0.1, gpu=True, seed=40),
    ),
    points=3,
    solution="flashlearn.kernels.dropout_attention:dropout",
)
