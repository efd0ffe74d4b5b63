"""The project of lesson 13: FlashAttention-3's backward pass."""

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
    Prepared,
)  # fmt: skip
from flashlearn.lessons.lesson_13_hopper import backward_mistakes
from flashlearn.lessons.shared import backward_cases, readouts, reference, tiled_twins
from flashlearn.lessons.shared import grouped_cases as cases
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case

HOPPER = 90


def gradient_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, o, do, lse, causal and alpha; causal where the case's `data` says so among other things."""
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
    attention_case(1, 1, 64, B=2, H=3, dtype=BF16, seed=2),
    attention_case(130, 130, 64, dtype=BF16, data="causal", seed=3),  # two programs, three blocks of queries
    attention_case(100, 150, 64, H=2, dtype=FP16, data="causal", seed=4),
    attention_case(150, 70, 64, dtype=FP16, data="causal", seed=5),  # 80 queries see no key
    attention_case(37, 200, 64, B=2, dtype=BF16, seed=6),
    attention_case(300, 40, 64, dtype=FP16, seed=7),  # five blocks: the ring goes round twice and more
    attention_case(70, 100, 128, dtype=BF16, data="causal", seed=8),
    attention_case(33, 90, 64, H=2, dtype=FP16, layout="strided", data="causal", seed=9),
    attention_case(64, 37, 64, dtype=BF16, data="negative alpha", seed=10),
    attention_case(40, 48, 64, dtype=FP16, data="one column of V is 64", seed=11),
    attention_case(20, 33, 64, H=2, dtype=FP16, data="each tensor laid out its own way", seed=12),
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
    ),
    explained=HowExplained(
        weights=readouts.of_gradients(),
        mistakes=backward_mistakes.BACKWARD,
        catalogue=backward_mistakes.OLDER_BACKWARD,
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
