"""`dq_without_delta`: dQ in one scan over the keys, without O and without delta."""

from __future__ import annotations

import torch

from flashlearn.exercise import (
    Case,
    Earlier,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Mistake,
    Work,
)
from flashlearn.lessons.lesson_07_dq import without_delta
from flashlearn.lessons.lesson_07_dq.quantities import without_delta as without_delta_quantities
from flashlearn.lessons.lesson_07_dq.without_delta import in_one_scan
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared.attention_cases import (
    REAL_SIZES,
    TIMING,
    attention_case,
    products_work,
    score_count,
)
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

SCANNED_AGAIN = (
    "The numbers are right, but {requested} bytes are requested where one scan needs {least}: with "
    "a single block of queries something is read more than once. delta can be computed in the same scan: "
    "factor it out of the sum over the keys."
)

formula = faulty_formula(in_one_scan)

MISTAKES = {
    "delta left out": Mistake(
        "dq is alpha Σ P dP K: the part with delta is missing.",
        "Multiply out (P ∘ (dP − delta)) K: what is the second part?",
        **formula("no delta"),
    ),
    "delta so far": Mistake(
        "Each tile's dS is made with the delta of the tiles up to it, but delta is complete only after the "
        "last tile. Where one tile holds all keys, the result is right.",
        "delta is one number per query, so it can move out of the sum over the keys. What is left in the "
        "sum?",
        **formula("delta so far"),
    ),
    "delta of the tile alone": Mistake(
        "Each tile's dS has a delta of its own. There is one delta per query, over all keys.",
        "Sum P dP over all tiles, and subtract once, after the loop.",
        **formula("delta of the tile"),
    ),
    "delta not multiplied in": Mistake(
        "Σ P K was subtracted as it is. It has to be multiplied by delta first.",
        "The second part of dQ_i is alpha delta_i Σ_j P_ij K_j.",
        **formula("delta is 1"),
    ),
    "keys summed without P": Mistake(
        "delta was multiplied by the plain sum of the keys. Each key counts with the weight that the query "
        "gave to it.",
        "The second sum is Σ_j P_ij K_j, a product of P with the tile of keys.",
        **formula("keys not weighted"),
    ),
    "values in place of keys": Mistake(
        "delta is multiplied by Σ P V. The second sum, like the first, is one of keys: Σ P K.",
        "The second part of dQ_i is alpha delta_i Σ_j P_ij K_j.",
        **formula("values averaged"),
    ),
    "alpha in one part only": Mistake(
        "Only one of the two parts of dQ is multiplied by alpha.",
        "dQ is alpha times the difference of the two parts.",
        **formula("alpha in one part", also=("alpha in the other part",)),
    ),
    "only the last tile": Mistake(
        "dQ holds the last tile of keys alone, as if each tile replaced what was summed before it.",
        "Where do the shares of the earlier tiles get lost?",
        **formula("last tile only"),
    ),
    "the last, incomplete block of keys is left out": Mistake(
        "The last block of keys, which is not full, is missing from each row, as if only whole blocks "
        "were counted.",
        "Where does key S_k − 1, the last one, enter the sums?",
        **formula("whole blocks only"),
    ),
    "padded keys get a probability": Mistake(
        "Where all scores are far below 0, dQ is NaN, as it is if padded keys take part, whose P = exp(0 − "
        "LSE) is infinite, and ∞ · 0 is NaN; or if P is exp(S) / exp(LSE), which is 0/0.",
        "Where LSE is far below 0, which entries of P are not finite?",
        **formula("padded keys"),
    ),
    "alpha is missing from dQ": Mistake(
        "dQ lacks the factor alpha: S = alpha Q Kᵀ, so the derivative by Q carries alpha once more.",
        "dQ is alpha times the difference of the two parts.",
        **formula("no alpha"),
    ),
    "alpha applied twice": Mistake(
        "dQ carries alpha twice.",
        "dQ is alpha times the difference of the two parts: where does each of your factors come in?",
        **formula("alpha twice"),
    ),
    "sums in half precision": Mistake(
        "The sums over the keys are rounded to half precision with every tile; the errors add up.",
        "Keep the sums, and what is added to them, in tl.float32; convert once, at the store.",
        **formula("sums in half"),
    ),
}

MANY_AROUND_FOUR = attention_case(16, 1025, 16, dtype=torch.float16, data="K and V around 4", seed=53)
"""In place of the many keys of `dq_kernel`: each of the three sums must be carried in fp32."""
LIFTED = "one column of V is 64"
"""Of the cases of `dq_kernel`, the data that three sums in half precision cannot be right on."""


def inputs_without_delta(case: Case, generator: torch.Generator) -> Inputs:
    """What `dq_kernel` gets, without O: so there is nothing to take delta from."""
    given = backward.backward_inputs(case, generator)
    return {name: value for name, value in given.items() if name != "o"}


def without_delta_work(inputs: Inputs) -> Work:
    """Four products, S, dP, P dP K and P K, over all pairs."""
    return products_work(inputs, 4, ("q",))


def one_scan(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a kernel with one block of queries asks for its keys and values more than once."""
    case = attention_case(16, 512, 16, seed=61)
    seen = answer.run(inputs_without_delta(case, case.generator()), Observed()).completed().observation
    if seen.bytes_requested <= 1.5 * seen.bytes_unique:
        return ""
    return SCANNED_AGAIN.format(requested=seen.bytes_requested, least=seen.bytes_unique)


dq_without_delta = Exercise(
    name="dq_without_delta",
    lesson="07",
    kind=Kind.KERNEL,
    title="dQ in one scan, without O and without delta",
    signature="(q, k, v, do, lse, alpha) -> dq",
    outputs=("dq",),
    inputs=inputs_without_delta,
    cases=tuple(
        MANY_AROUND_FOUR if case.sizes["S_k"] == MANY_AROUND_FOUR.sizes["S_k"] else case
        for case in backward.MANY_KEYS
        if case.data != LIFTED
    ),
    judged=HowJudged(
        reference=without_delta.dq_in_torch,
        twins=(without_delta.in_one_scan,),
        gradient=True,
        work=without_delta_work,
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
        review=one_scan,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
        quantities=without_delta_quantities,
    ),
    timed=HowTimed(
        peer=without_delta.dq_in_torch_by_parts,
        peer_name="dq_in_torch",
        case=TIMING,
    ),
    points=2,
    solution="flashlearn.lessons.lesson_07_dq.without_delta:dq_without_delta",
)
