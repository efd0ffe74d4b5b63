"""Causal exercises have a case in which a tile begins with the last key that a block of queries sees."""

from __future__ import annotations

import pytest

from flashlearn import lessons

CAUSAL = (
    "flash_forward_causal", "flash_forward_either", "dq_kernel_causal", "dkv_kernel_causal",
    "fused_backward_atomic", "fused_backward_rows", "determinism",
    "tuned_forward", "tuned_backward", "lean_forward",
)  # fmt: skip


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("block", [16, 32, 64])
def test_a_loop_that_ends_one_key_early_loses_a_tile(name, block):
    lost = [
        case
        for case in lessons.find(name).cases
        if (case.sizes["S_k"] - case.sizes["S_q"]) % block == 1 and case.sizes["S_q"] >= block
    ]
    assert any("causal" in case.name or name.endswith("_causal") for case in lost)


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("block", [16, 32, 64, 128])
def test_a_tile_has_one_pair_that_is_hidden(name, block):
    shifts = [case.sizes["S_k"] - case.sizes["S_q"] for case in lessons.find(name).cases]
    assert any(shift % block == block - 2 for shift in shifts)
