"""`flash_forward`: FlashAttention's forward pass, O and LSE in one scan over the keys."""

from __future__ import annotations

import torch

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Kind, Mistake
from flashlearn.lessons.lesson_06_flash_forward.faulty_kernels import faulty_forward, kernel_mistakes
from flashlearn.lessons.lesson_06_flash_forward.forward_cases import (
    BOTH,
    LOW_ROWS,
    SAME_PRECISION,
    forward_work,
    head_inputs,
    sdpa_flash,
)
from flashlearn.lessons.shared import quantities, readouts, reference
from flashlearn.lessons.shared.attention_cases import ON_A_GPU, REAL_SIZES, TIMING, score_count
from flashlearn.lessons.shared.attention_mistakes.forward import forward
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.forward import scan

MISTAKES = {
    **forward(faulty_formula(scan, causal=False)),
    **kernel_mistakes(causal=False),
    "the mask of keys lies along the queries": Mistake(
        "S is masked along the wrong axis: where the tile lacks a key, a query's row is set to −inf, and "
        "the padded keys still take part. The shapes fit because the tile is square.",
        "Which axis of the tile of scores counts keys, and along which one does the mask lie?",
        launcher=faulty_forward("mask along the queries"),
    ),
}

flash_forward = Exercise(
    name="flash_forward",
    lesson="06",
    kind=Kind.KERNEL,
    title="FlashAttention's forward pass: O and LSE in one scan over the keys",
    signature="(q, k, v, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=head_inputs,
    cases=(*BOTH, LOW_ROWS, *ON_A_GPU),
    judged=HowJudged(
        reference=reference.attention_forward,
        twins=SAME_PRECISION,
        output_dtypes={"lse": torch.float32},
        work=forward_work,
        grows=score_count,
        real_sizes=REAL_SIZES,
        many_heads=True,
    ),
    explained=HowExplained(
        weights=readouts.readout(readouts.forward_weights),
        quantities=quantities.attention_forward,
        mistakes=MISTAKES,
    ),
    timed=HowTimed(
        peer=sdpa_flash,
        peer_name="sdpa_flash",
        case=TIMING,
    ),
    points=4,
    solution="flashlearn.kernels.flash_forward:flash_forward",
)
