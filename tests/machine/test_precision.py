"""What a notebook has switched on does not reach the products that decide how close is close enough."""

from __future__ import annotations

import torch

from flashlearn.machine.precision import REDUCED, full_precision


def test_products_are_exact_inside_the_block_and_as_they_were_after_it():
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_tf32
    try:
        matmul.allow_tf32 = True
        with full_precision():
            assert not matmul.allow_tf32
            assert not any(getattr(matmul, name) for name in REDUCED)
        assert matmul.allow_tf32 and all(getattr(matmul, name) for name in REDUCED)
    finally:
        matmul.allow_tf32 = before
