"""Lesson 13's last exercise: FlashAttention-3's forward pass."""

from __future__ import annotations

import torch
from torch.nn.attention import SDPBackend

from flashlearn.exercise import Exercise, HowExplained, HowJudged, HowTimed, Kind
from flashlearn.kernels import torch_attention
from flashlearn.lessons.lesson_13_hopper import fa3_mistakes
from flashlearn.lessons.shared import grouped, readouts, reference
from flashlearn.lessons.shared import grouped_cases as cases
from flashlearn.lessons.shared.attention_cases import BF16, FP16, attention_case
from flashlearn.lessons.shared.grouped_cases import LAYOUTS, flagged

__all__ = ["fa3_forward"]

HOPPER = 90


def _case(S_q: int, S_k: int, D: int, causal: bool, H_k: int = 0, dtype=BF16, **more: object):
    return flagged(attention_case(S_q, S_k, D, dtype=dtype, **more), causal, H_k)


ON_A_GPU = (
    _case(1024, 1024, 128, True, B=2, H=8, gpu=True, seed=30),
    _case(1000, 1500, 64, False, B=2, H=8, H_k=2, gpu=True, seed=31),
    _case(777, 500, 64, True, B=1, H=4, dtype=FP16, gpu=True, seed=32),
)
FORWARD = (
    _case(64, 128, 64, False, seed=1),  # one tile of queries, one block of keys
    _case(128, 300, 64, False, dtype=FP16, seed=2),
    _case(100, 700, 64, False, seed=3),  # six blocks of keys: a ring of two goes round three times
    _case(130, 300, 64, True, seed=4),  # the second 64 queries see a block more than the first
    _case(110, 70, 64, True, dtype=FP16, seed=5),  # 40 queries see no key
    _case(70, 150, 64, True, H=4, H_k=2, layout="strided", seed=6),
    _case(33, 140, 64, False, H=2, data=LAYOUTS, seed=7),
    _case(65, 200, 128, True, seed=8),
    _case(64, 37, 64, False, dtype=FP16, data="negative alpha", seed=9),
    _case(80, 400, 64, False, magnitude=3.0, seed=10),
    *ON_A_GPU,
)
TIMED = _case(4096, 4096, 128, False, B=4, H=16, gpu=True, seed=40)

fa3_forward = Exercise(
    name="fa3_forward",
    lesson="13",
    kind=Kind.KERNEL,
    title="FlashAttention-3: a softmax under the product of another block",
    signature="(q, k, v, causal, alpha) -> (o, lse)",
    outputs=("o", "lse"),
    inputs=cases.forward_inputs,
    cases=FORWARD,
    judged=HowJudged(
        needs=HOPPER,
        reference=grouped.forward(reference.attention_forward),
        twins=tuple(map(grouped.forward, cases.FORWARD_TWINS)),
        output_dtypes={"lse": torch.float32},
        work=cases.forward_work,
    ),
    explained=HowExplained(
        quantities=cases.forward_quantities,
        weights=readouts.readout(readouts.forward_weights),
        mistakes=fa3_mistakes.FORWARD,
        catalogue=fa3_mistakes.OLDER_FORWARD,
    ),
    timed=HowTimed(
        peer=torch_attention.by_backend(SDPBackend.FLASH_ATTENTION),
        peer_name="sdpa_flash",
        peers={"sdpa_cudnn": torch_attention.by_backend(SDPBackend.CUDNN_ATTENTION)},
        grades=cases.FORWARD_GRADES,
        case=TIMED,
    ),
    points=5,
    solution="flashlearn.lessons.lesson_13_hopper.simple_fa3:fa3_forward",
)
