"""Cases of the tuned kernels: forward and backward, with and without a causal mask, with shared heads."""

from __future__ import annotations

from flashlearn.lessons.shared.attention_cases import BF16, FP16, TILE_EDGES, attention_case
from flashlearn.lessons.shared.grouped_cases import LAYOUTS, flagged

GPU_SHAPES = (
    (1000, 1000, 128, 2, 16, 16, BF16, True),
    (1024, 1024, 64, 4, 16, 4, FP16, False),
    (777, 1500, 128, 1, 8, 2, BF16, True),
)
EDGES = tuple(flagged(case, True) for case in (attention_case(129, 258, 16, seed=15), TILE_EDGES[1]))
COMMON = (
    flagged(attention_case(16, 16, 16, seed=1), False),
    flagged(attention_case(37, 37, 16, B=2, seed=2), True),
    flagged(attention_case(64, 100, 32, seed=3), False),
    flagged(attention_case(100, 64, 32, seed=4), True),
    flagged(attention_case(20, 37, 24, H=2, layout="strided", seed=5), True),
    flagged(attention_case(130, 200, 32, dtype=FP16, seed=6), True),
    flagged(attention_case(70, 160, 64, dtype=BF16, seed=7), False),
    flagged(attention_case(33, 48, 16, B=2, H=4, seed=8), True, H_k=2),
    flagged(attention_case(17, 40, 16, H=3, dtype=FP16, seed=9), False, H_k=1),
    flagged(attention_case(64, 37, 16, data="negative alpha", seed=10), False),
    flagged(attention_case(20, 37, 16, B=2, H=2, data=LAYOUTS, seed=11), True),
    flagged(attention_case(5, 20, 80, dtype=BF16, seed=12), True),
    flagged(attention_case(9, 17, 128, dtype=FP16, seed=13), False),
    flagged(attention_case(1, 150, 8, H=3, seed=14), True),
    *EDGES,
    *(
        flagged(attention_case(S_q, S_k, D, B=B, H=H, dtype=dtype, gpu=True, seed=30 + i), causal, H_k)
        for i, (S_q, S_k, D, B, H, H_k, dtype, causal) in enumerate(GPU_SHAPES)
    ),
)
TIMED = flagged(attention_case(4096, 4096, 128, B=4, H=16, dtype=BF16, gpu=True, seed=40), False)
