"""The tuned kernels agree with fp64, refuse what does not go together, and repeat themselves."""

from __future__ import annotations

import contextlib

import pytest
import torch

from flashlearn.interpreter.route import observing
from flashlearn.kernels import small_problems
from flashlearn.kernels.described import complying, described, heads_together
from flashlearn.kernels.fast_attention import fast_attention
from flashlearn.kernels.gluon.fa3_attention import fa3_attention
from flashlearn.kernels.tuned_backward import tuned_backward
from flashlearn.kernels.tuned_forward import tuned_forward
from flashlearn.machine import device
from tests.kernels import sweep

needs_gpu = pytest.mark.skipif(not device.has_gpu(), reason="compiled kernels need a GPU")


@pytest.mark.parametrize("draw", list(sweep.draws(8, seed=2026, longest=40)), ids=lambda draw: str(draw.seed))
def test_observed_kernels_are_as_near_to_fp64_as_torch(draw):
    with observing(seed=1) as (session, _):
        worst = sweep.ratios(draw)
    assert max(worst.values()) <= sweep.ALLOWED
    assert not session.memory.races.found


@needs_gpu
@pytest.mark.parametrize("draw", list(sweep.draws(12, seed=7, longest=700)), ids=lambda draw: str(draw.seed))
def test_compiled_kernels_are_as_near_to_fp64_as_torch(draw):
    assert max(sweep.ratios(draw).values()) <= sweep.ALLOWED


@needs_gpu
@pytest.mark.parametrize("causal", [False, True])
def test_two_backward_passes_agree_bit_for_bit(causal):
    q, k, v, do = (torch.randn(2, 4, 1000, 64, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    o, lse = tuned_forward(q, k, v, causal)
    first, second = (tuned_backward(q, k, v, o, do, lse, causal) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("shapes", "dtypes", "words"),
    [
        (((1, 2, 8), (1, 2, 8, 16), (1, 2, 8, 16)), (torch.float32,) * 3, "four dimensions"),
        (((1, 3, 8, 16), (1, 2, 8, 16), (1, 2, 8, 16)), (torch.float32,) * 3, "must divide"),
        (((1, 2, 8, 16), (1, 2, 8, 32), (1, 2, 8, 32)), (torch.float32,) * 3, "B and D"),
        (((1, 2, 8, 16),) * 3, (torch.float32, torch.float16, torch.float32), "share a dtype"),
        (((1, 2, 8, 16),) * 3, (torch.float64,) * 3, "expected float32"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_sentence(shapes, dtypes, words):
    q, k, v = (torch.zeros(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True))
    with pytest.raises((TypeError, ValueError), match=words):
        tuned_forward(q, k, v)


def test_a_tensor_that_complies_is_not_copied_and_every_other_is():
    dense = torch.zeros(2, 3, 10, 64, dtype=torch.float16)
    assert complying(dense) is dense
    turned = dense.transpose(1, 2)
    assert complying(turned) is turned
    for odd in (
        dense[..., 1:],
        dense[..., ::2],
        dense[:, :1].expand(2, 3, 10, 64),
        torch.zeros(1, 1, 9, 20).half(),
    ):
        copied = complying(odd)
        assert copied is not odd
        assert torch.equal(copied, odd)
        assert described(copied, 16).block_shape == [1, 1, 16, 32 if copied.shape[3] <= 32 else 64]


@pytest.mark.parametrize("heads", [1, 6, 7, 64])
@pytest.mark.parametrize("causal", [False, True])
def test_heads_are_taken_together_in_equal_groups(heads, causal):
    together = heads_together(heads, tiles=16, bytes_per_head=2**20, causal=causal)
    assert heads % together == 0


@pytest.mark.parametrize("causal", [False, True])
def test_fast_attention_is_differentiable(causal):
    where = device.default()
    q, k, v = (torch.randn(1, 2, 40, 16, device=where, requires_grad=True) for _ in range(3))
    with observing(seed=1) if where == "cpu" else contextlib.nullcontext():
        fast_attention(q, k, v, causal).sum().backward()
    mine = [t.grad.clone() for t in (q, k, v)]
    for t in (q, k, v):
        t.grad = None
    torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).sum().backward()
    for a, t in zip(mine, (q, k, v), strict=True):
        torch.testing.assert_close(a, t.grad, rtol=0, atol=1e-4)


@pytest.mark.parametrize("causal", [False, True])
def test_fa3_attention_is_differentiable(causal):
    where = device.default()
    q, k, v = (torch.randn(1, 2, 70, 64, device=where).half().requires_grad_() for _ in range(3))
    with observing(seed=1) if where == "cpu" else contextlib.nullcontext():
        fa3_attention(q, k, v, causal).float().sum().backward()
    mine = [t.grad.float() for t in (q, k, v)]
    wide = [t.detach().float().requires_grad_() for t in (q, k, v)]
    torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=causal).sum().backward()
    for a, t in zip(mine, wide, strict=True):
        torch.testing.assert_close(a, t.grad, rtol=0, atol=0.02)


@needs_gpu
def test_a_short_problem_launched_again_sees_its_new_numbers_and_sizes():
    for S in (64, 64, 100, 64):
        q, k, v, do = (torch.randn(1, 2, S, 64, device="cuda", dtype=torch.float16) for _ in range(4))
        o, lse = small_problems.short_forward(q, k, v, False, 0.125)
        gradients = small_problems.short_backward(q, k, v, o, do, lse, False, 0.125)
        other, lse_too = tuned_forward(q, k, v, False, 0.125)
        torch.testing.assert_close(o, other, rtol=0, atol=4e-3)
        torch.testing.assert_close(lse, lse_too, rtol=0, atol=1e-4)
        for a, b in zip(gradients, tuned_backward(q, k, v, o, do, lse, False, 0.125), strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-2)
