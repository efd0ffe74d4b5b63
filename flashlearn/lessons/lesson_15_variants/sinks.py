"""`sinks`: a learned logit per head that takes a share of every row's softmax, and its gradient."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from flashlearn.exercise import Case, Exercise, HowExplained, HowJudged, HowTimed, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_15_variants import sink_formulas
from flashlearn.lessons.lesson_15_variants.both_passes import both, work_of
from flashlearn.lessons.lesson_15_variants.sink_formulas import (
    FIRST_SUM,
    LAST_BLOCK,
    NO_MASK,
    NOTHING_YET,
    OWN,
    PER_TILE,
    sink_attention,
)
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case, forward_inputs, pairs
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula

formula = faulty_formula(sink_attention)

LARGE, SMALL = "a logit near 120", "logits near −3"
"""exp(120) overflows in fp32. The first head's rows keep nothing beside such a sink, and LSE is its logit."""


MISTAKES = {
    "the sink is not in the maximum": Mistake(
        "The sink's weight overflows where its logit is large: the maximum m that is subtracted leaves the "
        "sink out.",
        "The sink's logit is one of the scores of its row.",
        **formula("sink not in m"),
    ),
    "the sink is not in LSE": Mistake(
        "LSE is that of the scores alone. The backward pass takes P = exp(S − LSE), whose rows now sum to "
        "1, too much by the sink's share.",
        "LSE is the logarithm of Σ_j exp(s_j) + exp(logit).",
        **formula("sink not in LSE"),
    ),
    "the first sum is not relative to the maximum": Mistake(
        "The sink's weight is multiplied by exp(logit): a row begins with the maximum m = logit and the "
        "sum exp(logit), or something equivalent.",
        "The sum counts exp(s − m). What is that for the sink, if m is its logit?",
        **formula(FIRST_SUM),
    ),
    "a sink in every tile": Mistake(
        "The sink's weight is added once for every tile of keys. It belongs in a row's sum once.",
        "A row has one sink, however many tiles of keys it has.",
        **formula(PER_TILE),
    ),
    "the sink is scaled": Mistake(
        "The sink's logit is multiplied by alpha. It is a score already: it joins S = alpha Q Kᵀ as it is.",
        "The denominator is Σ exp(s_j) + exp(logit): where does alpha occur in it?",
        **formula("sink scaled", also=(("sink scaled", "alpha on dlogits"), ("sink scaled", OWN))),
    ),
    "the sink is in base 2": Mistake(
        "The sink's weight is 2^logit where it must be e^logit: the scores carry log2 e, and the logit does "
        "not.",
        "e^logit is 2^(logit · log2 e).",
        **formula("sink in base 2", also=(("sink in base 2", OWN),)),
    ),
    "a sink of 0": Mistake(
        "Every row has a sink whose logit is 0, whatever is in the tensor.",
        "The sink of head h has the logit of head h.",
        **formula("a sink of 0", also=(("a sink of 0", OWN),)),
    ),
    "the sink of the first head": Mistake(
        "All heads take the logit of the first one.",
        "The sink of head h has the logit of head h.",
        **formula("the first head's sink", also=(("the first head's sink", OWN),)),
    ),
    "no mask at all": Mistake(
        "Nothing is masked: a query sees every key of the tiles that its block visits.",
        "Tiles also hold keys that some of the block's queries must not see.",
        **formula(NO_MASK),
    ),
    "no sink": Mistake(
        "O and LSE are those of attention without a sink: the rows of P sum to 1.",
        "The denominator of a row is Σ_j exp(s_j) + exp(logit).",
        **formula("no sink", also=(("no sink", OWN),)),
    ),
    "the sum begins with 0": Mistake(
        "The sink's own weight is not in the sum: a row begins with the maximum m = logit and the sum 0.",
        "The sum counts exp(s − m). What is that for the sink, if m is its logit?",
        **formula(NOTHING_YET, also=((NOTHING_YET, OWN),)),
    ),
    "dlogits has the wrong sign": Mistake(
        "The gradient of the logits has the opposite sign.",
        "The sink has no value, so dP is 0 for it: what is left of P ∘ (dP − delta)?",
        **formula("sign of dlogits"),
    ),
    "delta forgotten in dlogits": Mistake(
        "The gradient of the logits is minus the sum of the sinks' weights: delta does not enter.",
        "The sink has no value, so dP is 0 for it: what is left of P ∘ (dP − delta)?",
        **formula("delta forgotten in dlogits"),
    ),
    "the sink's weight is forgotten in dlogits": Mistake(
        "The gradient of the logits is minus the sum of delta: the sink's own weight, exp(logit − LSE), is "
        "missing.",
        "P ∘ (dP − delta) holds for the sink too, where P is exp(logit − LSE).",
        **formula("sink's weight forgotten"),
    ),
    "a sink with a value": Mistake(
        "The gradient of the logits is that of a sink whose dP is 1. The sink has no value: its dP is 0.",
        "dP_ij is dO_i · V_j: which V does the sink have?",
        **formula("a value of 1"),
    ),
    "alpha on dlogits": Mistake(
        "The gradient of the logits is multiplied by alpha. dQ and dK carry alpha since S = alpha Q Kᵀ; the "
        "logit is a score itself.",
        "What is the derivative of the sink's score by its logit?",
        **formula("alpha on dlogits"),
    ),
    "one batch in dlogits": Mistake(
        "The gradient of the logits is one batch's share. A head has one logit, which all batches use.",
        "A logit has a share in every row of every batch entry.",
        **formula("one batch", also=("the first batch",)),
    ),
    "one block in dlogits": Mistake(
        "The gradient of the logits is the share of the last block of queries, as if each block wrote over "
        "those before.",
        "The gradient of a logit is the sum over all queries.",
        **formula(LAST_BLOCK),
    ),
    "a mean in dlogits": Mistake(
        "The gradient of the logits is the mean over batches and queries. It is their sum.",
        "A logit occurs in every row: do the rows' shares add up, or average?",
        **formula("mean over queries"),
    ),
    "delta omitted": Mistake(
        "dS = P ∘ dP: delta is missing from dQ and dK.",
        "dS is P ∘ (dP − delta), with a sink as without one.",
        **formula("delta omitted"),
    ),
}


def sink_case(S_q: int, S_k: int, D: int = 16, **more: Any) -> Case:
    """A case of attention_case."""
    return attention_case(S_q, S_k, D, **more)


def sink_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, do [B, H, S_q, D], k, v [B, H, S_k, D], logits [H] in fp32, alpha."""
    given = forward_inputs(case, generator)
    sizes = case.sizes
    do = torch.randn(sizes["B"], sizes["H"], sizes["S_q"], sizes["D"], generator=generator)
    logits = torch.randn(sizes["H"], generator=generator) + (-3.0 if case.data == SMALL else 2.0)
    if case.data == LARGE:
        logits[0] += 120.0
    tensors = {name: given[name] for name in "qkv"}
    return {**tensors, "do": do.to(given["q"].dtype), "logits": logits, "alpha": given["alpha"]}


def sdpa_without_sink(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, logits: Tensor, alpha: float
) -> tuple[Tensor, ...]:
    """Both passes of SDPA's causal attention, which has no sink."""
    return both(lambda *qkv: scaled_dot_product_attention(*qkv, is_causal=True, scale=alpha), do, q, k, v)


sinks = Exercise(
    name="sinks",
    lesson="15",
    kind=Kind.KERNEL,
    title="A sink in the denominator, and its gradient",
    signature="(q, k, v, do, logits, alpha) -> (o, lse, dq, dk, dv, dlogits)",
    outputs=("o", "lse", "dq", "dk", "dv", "dlogits"),
    inputs=sink_inputs,
    cases=(
        sink_case(16, 16, H=3, seed=1),
        sink_case(37, 37, B=2, H=3, seed=2),
        sink_case(40, 100, 32, B=2, H=3, seed=3),
        sink_case(70, 40, H=3, seed=4),  # 30 queries see no key, and their sink
        sink_case(20, 33, H=4, data=LARGE, seed=5),
        sink_case(33, 70, 24, H=2, B=2, layout="strided", data=SMALL, seed=6),
        sink_case(1, 37, 8, H=6, seed=7),
        sink_case(64, 64, 32, H=2, dtype=FP16, seed=8),
        sink_case(37, 80, 64, H=2, dtype=BF16, seed=9),
        sink_case(20, 20, 16, H=2, B=3, data="negative alpha", seed=10),
        sink_case(1100, 90, 8, H=1, seed=13),  # more queries than the largest tile of a sum has
        sink_case(1000, 1000, 64, B=2, H=4, dtype=FP16, gpu=True, seed=11),
        sink_case(777, 1024, 128, B=2, H=4, dtype=BF16, gpu=True, seed=12),
    ),
    judged=HowJudged(
        reference=sink_attention,
        twins=(
            sink_formulas.rounded_passes,
            sink_formulas.in_another_order,
            sink_formulas.scaled_first,
            *(partial(sink_formulas.in_base_2, first=first) for first in (1, 3, 5, 6)),
        ),
        gradient=True,
        atomics=True,
        causal=True,
        output_dtypes={"lse": torch.float32},
        work=lambda inputs: work_of(inputs, pairs(inputs, causal=True)),
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(
        peer=sdpa_without_sink,
        peer_name="sdpa_without_sink",
        case=sink_case(4096, 4096, 128, B=2, H=16, dtype=BF16, gpu=True, seed=40),
    ),
    points=3,
    solution="flashlearn.kernels.sink_attention:sinks",
)
