"""What the two exercises on matrix products have in common: their cases and their work."""

from __future__ import annotations

import torch

from flashlearn.exercise import Inputs, Work
from flashlearn.lessons.lesson_13_hopper.matrices import product_case

FP16, BF16 = torch.float16, torch.bfloat16

PRODUCTS = (
    product_case(64, 64, 64, seed=1),  # one step
    product_case(128, 128, 128, BF16, seed=2),
    product_case(100, 72, 200, seed=3),
    product_case(128, 40, 560, BF16, seed=4),  # nine steps: more than two turns of the ring
    product_case(1, 1, 5, seed=5),
    product_case(37, 150, 321, layout="transposed", seed=6),
    product_case(140, 64, 450, BF16, layout="strided", seed=7),
    product_case(70, 64, 600, data="positive", seed=8),
    product_case(4096, 4096, 4096, BF16, seed=9, gpu=True),
    product_case(1000, 3001, 777, seed=10, gpu=True),
)
TIMED = product_case(8192, 8192, 8192, BF16, seed=11, gpu=True)

FULL_AT = "mbarrier.wait(full.index(at), i // STAGES % 2)"
FENCE = "    fence_async_shared()  # the copy engine sees what ordinary stores wrote\n"
"""Lines of both kernels that faults replace."""


def multiplied(inputs: Inputs) -> Work:
    """A multiplication and an addition for each element of c and of the inner dimension."""
    a, b = inputs["a"], inputs["b"]
    (M, K), N = a.shape, b.shape[1]
    return Work(2.0 * M * N * K, float(a.element_size() * (M * K + K * N + M * N)))
