"""What the three kernels have in common: inputs, cases, work, and how they are judged and timed."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from flashlearn.exercise import Case, HowJudged, HowTimed, Inputs, Work
from flashlearn.explaining.weights import Readout
from flashlearn.lessons.shared import backward_cases as backward
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import (
    BF16,
    FP16,
    REAL_SIZES,
    TILE_EDGES,
    TIMING,
    ZERO_QUERIES,
    attention_case,
    products_work,
    score_count,
)
from flashlearn.lessons.shared.tiled_twins import gradients_in_tiles, other_order
from flashlearn.quantity import Quantities

SIGNATURE = "(q, k, v, o, do, lse, alpha, causal) -> (dq, dk, dv)"
OUTPUTS = ("dq", "dk", "dv")


def one_pass_inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, o, do, lse, alpha and causal, which the case's `data` says."""
    words = [word for word in case.data.split(", ") if word != "causal"]
    plain = dataclasses.replace(case, data=", ".join(words) or "normal")
    causal = "causal" in case.data.split(", ")
    return {**backward.backward_inputs(plain, generator, causal), "causal": causal}


def causal_case(case: Case) -> Case:
    """The case under a causal mask."""
    return dataclasses.replace(case, name=f"{case.name}, causal", data="causal")


COMMON = (
    attention_case(16, 16, 16, seed=1),
    attention_case(1, 1, 16, B=3, H=2, data=ZERO_QUERIES, seed=2),
    attention_case(18, 18, 16, B=2, H=2, data="causal", seed=3),
    attention_case(64, 100, 32, data="causal", seed=4),
    attention_case(100, 64, 32, data="causal", seed=5),  # 36 queries see no key
    attention_case(1, 37, 8, seed=7),
    attention_case(64, 64, 64, dtype=FP16, seed=9),
    attention_case(37, 64, 32, dtype=BF16, data="causal", seed=10),
    attention_case(33, 20, 16, H=2, layout="strided", data="causal", seed=11),
    attention_case(64, 37, 24, data="negative alpha", seed=12),
    attention_case(69, 70, 16, B=2, H=2, data="each tensor laid out its own way", seed=51),
    attention_case(40, 48, 32, dtype=FP16, data="one column of V is 64", seed=52),
    attention_case(18, 37, 16, data="scores near −120", seed=55),
    attention_case(5, 7, 136, data="causal", seed=14, compiled=False),  # D beyond 64 and 128
    *(causal_case(case) for case in TILE_EDGES),
    *(
        attention_case(S, S, 64, B=8, H=8, dtype=dtype, data=data, seed=30 + S, gpu=True)
        for S, dtype, data in (
            (128, FP16, "normal"),
            (500, FP16, "causal"),
            (500, BF16, "normal"),
            (1024, FP16, "causal"),
        )
    ),
)
SEVERAL_BLOCKS = attention_case(80, 80, 8, H=2, data="causal", seed=15)
"""Two heads, where the first queries do not see the last block of keys: a head's parts are not all used."""
MANY_KEYS = (
    attention_case(16, 300, 16, dtype=FP16, data="halves that cancel", seed=53),
    attention_case(200, 16, 16, dtype=BF16, data="halves that cancel", seed=54),
)
MANY_QUERIES = (
    attention_case(16, 200, 16, dtype=FP16, data="halves that cancel", seed=53),
    attention_case(300, 16, 16, dtype=BF16, data="halves that cancel", seed=54),
)
"""Long sums in half precision: in what several programs add to, and in what one program owns."""


def five_products(inputs: Inputs) -> Work:
    """S, dV, dP, dK and dQ over the visible pairs; inputs read once, gradients written once."""
    given = {name: value for name, value in inputs.items() if name != "causal"}
    return products_work(given, 5, ("q", "k", "v"), inputs["causal"])


def one_pass_quantities(inputs: Inputs) -> Quantities:
    """What a right kernel's tiles hold, causal or not as the inputs say."""
    return quantities.attention_backward(inputs, OUTPUTS, inputs["causal"])


def weight_readout(read: Any) -> Readout:
    """A way of reading P out, causal or not as the inputs say."""

    def right_of(inputs: Inputs) -> tuple:
        return readouts.right_weights(inputs, inputs["causal"])

    return dataclasses.replace(readouts.READOUTS[read], right_of=right_of)


def in_reverse_order(q, k, v, o, do, lse, alpha, causal) -> tuple:
    """The gradients with every sum over D in reverse order."""
    return other_order(gradients_in_tiles)(q, k, v, o, do, lse, alpha, causal)


def judged(review: Any, atomics: bool) -> HowJudged:
    """How all three kernels are judged; `review` looks at their design."""
    return HowJudged(
        reference=reference.attention_gradients,
        twins=(reference.attention_gradients_rounded, gradients_in_tiles, in_reverse_order),
        gradient=True,
        atomics=atomics,
        work=five_products,
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
        review=review,
    )


TIMED = HowTimed(peer=backward.sdpa_backward, peer_name="sdpa_backward", case=TIMING)
