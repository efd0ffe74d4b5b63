"""The yardstick kernel is right, on ragged and unequal sizes too, and up to the limits that it names."""

from __future__ import annotations

import pytest
import torch

from flashlearn.interpreter import index_overflow
from flashlearn.interpreter.errors import OutOfBounds
from flashlearn.interpreter.route import observing
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal, flash_forward_kernel


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(("S_q", "S_k"), [(1, 1), (37, 64), (64, 37), (33, 100)])
def test_the_forward_pass_agrees_with_torch(S_q, S_k, dtype):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, S, 16, generator=generator).to(dtype) for S in (S_q, S_k, S_k))
    with observing(seed=1) as (session, _):
        o, lse = flash_forward(q, k, v, 0.3)
    scores = 0.3 * q.float() @ k.float().mT
    expected = torch.softmax(scores, dim=-1) @ v.float()
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(o.float(), expected, rtol=0, atol=tolerance)
    torch.testing.assert_close(lse, torch.logsumexp(scores, dim=-1), rtol=0, atol=1e-4)
    assert not session.memory.races.found


def far(B: int, H: int, S: int, row: int, D: int = 16) -> list[torch.Tensor]:
    """q, k and v without memory, [B, H, S, D] with rows `row` elements apart."""
    return [torch.empty_strided((B, H, S, D), (H * S * row, S * row, row, 1), device="meta") for _ in "qkv"]


@pytest.mark.parametrize(("B", "H"), [(65535, 2), (2, 65535)])
@pytest.mark.parametrize("forward", [flash_forward, flash_forward_causal])
def test_more_heads_than_a_grids_axis_is_long_are_launched(forward, B, H):
    assert index_overflow.attempt(lambda: forward(*far(B, H, S=3, row=16), 0.3)) == (None, [])


def test_offsets_inside_a_head_fit_below_two_to_the_31(S=40):
    last = (2**31 - 1 - 15) // (S - 1)  # so that (S − 1) · row + (D − 1) < 2³¹
    assert index_overflow.attempt(lambda: flash_forward(*far(1, 1, S, last), 0.3))[0] is None
    ended, overflows = index_overflow.attempt(lambda: flash_forward(*far(1, 1, S, 2 * last), 0.3))
    assert isinstance(ended, OutOfBounds)
    value, place = overflows[0]
    assert value >= 2**31 and "rows[:, None] * q_row" in place.text


def test_a_grid_of_two_axes_gives_the_same_heads():
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, 3, S, 16, generator=generator) for S in (37, 20, 20))
    o, lse = torch.empty_like(q), torch.empty(2, 3, 37)
    with observing():
        expected = flash_forward(q, k, v, 0.3)
        flash_forward_kernel[(2, 6)](
            q, k, v, o, lse, 0.3, 3, 37, 20, 16, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
            BLOCK_Q=32, BLOCK_K=32, BLOCK_D=16,
        )  # fmt: skip
    assert torch.equal(o, expected[0]) and torch.equal(lse, expected[1])
