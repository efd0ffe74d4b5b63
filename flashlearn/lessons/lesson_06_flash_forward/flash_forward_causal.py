"""`flash_forward_causal`: the same under a causal mask, aligned bottom-right."""

from __future__ import annotations

import functools

import torch

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Kind
from flashlearn.lessons.lesson_06_flash_forward.faulty_kernels import kernel_mistakes
from flashlearn.lessons.lesson_06_flash_forward.forward_cases import (
    BOTH,
    LOW_FIRST_ROW,
    LOW_LAST_TILE,
    SAME_PRECISION,
    forward_work,
    head_inputs,
    leaves_out_hidden_tiles,
    sdpa_flash_causal,
)
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import ON_A_GPU, REAL_SIZES, TILE_EDGES, TIMING, score_count
from flashlearn.lessons.shared.attention_mistakes.causal_forward import causal_forward
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.forward import scan

MISTAKES = {**causal_forward(faulty_formula(scan, causal=True)), **kernel_mistakes(causal=True)}

flash_forward_causal = Exercise(
    name="flash_forward_causal",
    lesson="06",
    kind=Kind.KERNEL,
    title="The same with a causal mask, aligned bottom-right",
    signature="(q, k, v, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=head_inputs,
    cases=(*BOTH, LOW_FIRST_ROW, LOW_LAST_TILE, *TILE_EDGES, *ON_A_GPU),
    judged=HowJudged(
        reference=functools.partial(reference.attention_forward, causal=True),
        twins=tuple(functools.partial(formula, causal=True) for formula in SAME_PRECISION),
        output_dtypes={"lse": torch.float32},
        work=functools.partial(forward_work, causal=True),
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
        causal=True,
        review=leaves_out_hidden_tiles,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.forward_weights, causal=True),
        quantities=quantities.causal_forward,
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=sdpa_flash_causal,
        peer_name="sdpa_flash_causal",
        case=TIMING,
    ),
    points=3,
    solution="flashlearn.kernels.flash_forward:flash_forward_causal",
)
