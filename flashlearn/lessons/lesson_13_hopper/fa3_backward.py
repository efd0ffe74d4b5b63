"""`fa3_backward`: FlashAttention-3's backward pass, the project of lesson 13."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

from flashlearn.exercise import (
    Case,
    Exercise,
    HowExplained,
    HowJudged,
    HowTimed,
    Inputs,
    Kind,
    Mistake,
    Prepared,
)  # fmt: skip
from flashlearn.lessons.lesson_13_hopper.backward_formulas import faulty_gradients
from flashlearn.lessons.lesson_13_hopper.by_hardware import multiplied_by_hardware
from flashlearn.lessons.lesson_13_hopper.fa3_backward_edits import kernel
from flashlearn.lessons.lesson_13_hopper.matrices import HOPPER
from flashlearn.lessons.shared import backward_cases, readouts, reference, tiled_twins
from flashlearn.lessons.shared import grouped_cases as cases
from flashlearn.lessons.shared.attention_cases import BF16, FP16, ZERO_QUERIES, attention_case, score_count
from flashlearn.lessons.shared.attention_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.attention_mistakes.dkv import dkv
from flashlearn.lessons.shared.attention_mistakes.dq import dq
from flashlearn.lessons.shared.attention_mistakes.gradients import lse_of_zero
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula

formula = faulty_formula(faulty_gradients)

SYNCHRONISATION = {
    "K and V are not waited for": kernel.mistake(
        "no wait for keys",
        "K and V come by TMA as everything else does, once for the whole program, and have a barrier of "
        "their own.",
        "Which barrier do the copies of K and V report to?",
    ),
    "the block of queries is not waited for": kernel.mistake(
        "no wait for queries",
        "The products read Q and dO of a slot that may still be on its way.",
        "Before the products of block i comes a wait for the phase that this block completes on its slot's "
        "barrier.",
    ),
    "the phase never turns": kernel.mistake(
        "phase never turns",
        "The same parity is asked for in every turn of the ring.",
        "How often has this slot been full before block i?",
    ),
    "the bytes of Q alone": kernel.mistake(
        "q's bytes alone",
        "The barrier of full slots expects fewer bytes than the copies of a block bring.",
        "Add up the bytes that come with one block of queries.",
    ),
    "the first emptying is waited for": kernel.mistake(
        "waits for the first emptying",
        "Before anything has been sent the producer waits for the consumers, and they wait for it.",
        "The phase before the first counts as complete, and its parity is 1.",
    ),
    "slots are never given back": kernel.mistake(
        "never given back",
        "The producer waits for slots that no consumer reports as empty: it ends only where all blocks fit "
        "into the ring.",
        "Each consumer reports a slot as empty once the products that read it are over.",
    ),
    "given back while products read it": kernel.mistake(
        "given back too early",
        "The slot is reported as empty while dV's and dK's products may still be reading Q and dO.",
        "After which wait have dV's and dK's products read the slot for sure?",
    ),
    "dS without a fence": kernel.mistake(
        "dS without a fence",
        "dSᵀ is written by ordinary stores, and the product for dQ "
        "reads it through the async proxy.",
        "What has to come between the store of dS and the product that reads it?",
    ),
    "dQ without a fence": kernel.mistake(
        "dQ without a fence",
        "dQ's block is written by ordinary stores, and the copy engine reads it through the asynchronous "
        "proxy.",
        "What has to come between the store of dQ's block and the addition?",
    ),
    "dQ's tile is still being read": kernel.mistake(
        "dQ's tile still read",
        "The copy engine adds the block before from the tile that this block is written to.",
        "`tma.store_wait` waits for additions as for copies out.",
    ),
    "a product is used too early": kernel.mistake(
        "dP too early",
        "A product is used that no wait has named yet, or that may be among those which a wait left under "
        "way.",
        "Which products may still be under way in this line?",
    ),
}  # fmt: skip

VALUES = {
    "stored, not added": kernel.mistake(
        "stored, not added",
        "What is stored last is what remains. dQ is a sum over all keys, to which every consumer adds a "
        "share; each row of dK and dV belongs to one consumer alone.",
        "A sum needs additions, and rows of one consumer alone need its number in their address.",
    ),
    "dQ of the first consumer alone": Mistake(
        "dQ is made of every second block of 64 keys: the shares of the second consumers are missing.",
        "Both consumers have keys, and both have a share of dQ to add.",
        **formula("dQ of the first consumer"),
    ),
    "all heads in the first one's dQ": Mistake(
        "dQ of all heads and batch entries is added up in the rows of the first one, and the rows of the "
        "others remain 0: where a head begins is missing from the address.",
        "At which row of the sum of dQ does this head begin?",
        **formula("one sum for all heads"),
    ),
    "mask forgotten": Mistake(
        "Hidden pairs take part: exp(S − LSE) of a key that the forward pass "
        "masked is not a probability, and may even exceed 1.",
        "P is 0 for key j of query i where j > i + S_k − S_q.",
        **formula("no mask in the loop", also=("no causal mask", ("no causal mask", "no guard"))),
    ),
    "mask aligned top-left": Mistake(
        "The mask is aligned top-left: query i sees the keys j ≤ i. In this course the last query sees the "
        "last key (bottom-right): j ≤ i + S_k − S_q. The two masks agree only for S_q = S_k.",
        "Query i is at the place of key i + S_k − S_q.",
        **formula("top-left mask in the loop", also=("top-left", "top-left mask")),
    ),
    "log2 e is missing from LSE": Mistake(
        "Your P is 2^(S log2 e − LSE): the scores are in base 2, and LSE is natural.",
        "e^(S − LSE) is 2^((S − LSE) log2 e): S and LSE both carry the factor.",
        **formula("LSE in base 2"),
    ),
    "alpha is missing from dQ": dq(formula)["alpha is missing from dQ"],
    "alpha is missing from dK": dkv(formula)["alpha is missing from dK"],
    "alpha is missing from dQ and dK": Mistake(
        "The factor alpha is missing: besides the one in the exponent, dQ = alpha dS K and dK = alpha dSᵀ Q "
        "carry one of their own.",
        "The finished sums of dQ and dK carry alpha once; that of dV does not.",
        **formula("alpha not on dQ", "alpha not on dK"),
    ),
    "delta along the keys": Mistake(
        "delta lies along the keys of the tile, where it belongs to the queries. If K comes first in the "
        "product, rows are keys and columns queries.",
        "A number per query is [None, :] in such a tile.",
        **formula("delta along the keys"),
    ),
    "LSE along the keys": Mistake(
        "LSE lies along the keys of the tile, where it belongs to the queries. If K comes first in the "
        "product, rows are keys and columns queries.",
        "A number per query is [None, :] in such a tile.",
        **formula("LSE along the keys"),
    ),
}  # fmt: skip

MISTAKES = {**SYNCHRONISATION, **VALUES}

FROM_EARLIER_LESSONS = (
    "alpha on dV",
    "alpha is missing from S",
    "alpha's sign is lost",
    "dK and dV exchanged",
    "dV from O",
    "dS meets K",
    "dP from K",
    "delta omitted",
    "delta subtracted after P",
    "P in front forgotten",
    "LSE forgotten",
    "an LSE of 0 taken for none",
    "log2 e is missing",
    "log2 e is missing from S",
    "dS transposed",
    "P not transposed",
    "mask hides the diagonal",
    "mask shows one key too many",
)
"""What goes wrong again when a correct backward pass is rewritten."""


_KNOWN = {**dkv(formula), **dq(formula), **causal_only(formula, keys=True), **lse_of_zero(formula)}
CATALOGUE = {name: _KNOWN[name] for name in FROM_EARLIER_LESSONS}


def gradient_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, o, do, lse, causal and alpha; causal where the case's `data` says so ."""
    words = [word for word in case.data.split(", ") if word != "causal"]
    plain = dataclasses.replace(case, data=", ".join(words) or "normal")
    causal = "causal" in case.data.split(", ")
    given = backward_cases.backward_inputs(plain, generator, causal)
    alpha = given.pop("alpha")
    return {**given, "causal": causal, "alpha": alpha}


def _by_name(formula: Callable) -> Callable:
    def gradients(q, k, v, o, do, lse, causal, alpha) -> tuple[Tensor, Tensor, Tensor]:
        return formula(q, k, v, o, do, lse, alpha, causal)

    return gradients


TWINS = (
    reference.attention_gradients_rounded,
    tiled_twins.gradients_in_tiles,
    tiled_twins.other_order(tiled_twins.gradients_in_tiles),
)


CASES = (
    attention_case(64, 64, 64, dtype=FP16, seed=1),
    attention_case(1, 1, 64, B=2, H=3, dtype=BF16, data=ZERO_QUERIES, seed=2),
    attention_case(130, 130, 64, dtype=BF16, data="causal", seed=3),  # two programs, three blocks of queries
    attention_case(100, 150, 64, H=2, dtype=FP16, data="causal", seed=4),
    attention_case(150, 70, 64, dtype=FP16, data="causal", seed=5),  # 80 queries see no key
    attention_case(37, 200, 64, B=2, dtype=BF16, seed=6),
    attention_case(300, 40, 64, dtype=FP16, seed=7),  # five blocks: more than two turns of the ring
    attention_case(70, 100, 128, dtype=BF16, data="causal", seed=8),
    attention_case(33, 90, 64, H=2, dtype=FP16, layout="strided", data="causal", seed=9),
    attention_case(64, 37, 64, dtype=BF16, data="negative alpha", seed=10),
    attention_case(40, 48, 64, dtype=FP16, data="one column of V is 64", seed=11),
    attention_case(20, 33, 64, B=2, H=2, dtype=FP16, data="each tensor laid out its own way", seed=12),
    attention_case(
        129, 130, 64, dtype=FP16, data="causal", seed=14
    ),  # a block of keys whose first query ends a block
    *(
        attention_case(S, S, D, B=4, H=8, dtype=dtype, data=data, seed=30 + S, gpu=True)
        for S, D, dtype, data in (
            (500, 64, FP16, "causal"),
            (1024, 128, BF16, "normal"),
            (1300, 64, BF16, "causal"),
        )
    ),
)
TIMED = attention_case(4096, 4096, 128, B=4, H=16, dtype=BF16, seed=40, gpu=True)

fa3_backward = Exercise(
    name="fa3_backward",
    lesson="13",
    kind=Kind.KERNEL,
    title="FlashAttention-3's backward pass",
    signature="(q, k, v, o, do, lse, causal, alpha) -> (dq, dk, dv)",
    outputs=("dq", "dk", "dv"),
    inputs=gradient_inputs,
    cases=CASES,
    judged=HowJudged(
        needs=HOPPER,
        reference=_by_name(reference.attention_gradients),
        twins=tuple(map(_by_name, TWINS)),
        gradient=True,
        atomics=True,
        work=cases.backward_work,
        grows=score_count,
        seen=multiplied_by_hardware,
    ),
    explained=HowExplained(
        weights=readouts.gradient_readouts(),
        mistakes=MISTAKES,
        catalogue=CATALOGUE,
    ),
    timed=HowTimed(
        peer=cases.sdpa_backward,
        peer_name="sdpa_flash",
        peers={"sdpa_cudnn": Prepared(cases.cudnn_backward)},
        grades=cases.BACKWARD_GRADES,
        case=TIMED,
    ),
    points=5,
    solution="flashlearn.lessons.lesson_13_hopper.taught_backward:fa3_backward",
)
