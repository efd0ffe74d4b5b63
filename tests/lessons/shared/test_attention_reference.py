"""The attention oracle agrees with autograd, twins are the same formula, and empty rows are zero."""

from __future__ import annotations

import math

import pytest
import torch

from flashlearn.lessons.lesson_06_flash_forward.forward_cases import LARGE
from flashlearn.lessons.shared import attention_cases as cases
from flashlearn.lessons.shared import reference

SIZES = [(5, 5), (3, 7), (7, 3), (1, 1), (1, 6)]


def draw(S_q, S_k, D=4):
    generator = torch.Generator().manual_seed(S_q * 10 + S_k)
    make = lambda S: torch.randn(2, 3, S, D, generator=generator, dtype=torch.float64)  # noqa: E731
    return make(S_q), make(S_k), make(S_k), make(S_q)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("S_q", "S_k"), SIZES)
def test_the_gradients_are_autograd_s(S_q, S_k, causal):
    q, k, v, do = draw(S_q, S_k)
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    o, lse = reference.attention_forward(*leaves, 0.7, causal)
    expected = torch.autograd.grad(o, leaves, do)
    got = reference.attention_gradients(q, k, v, o.detach(), do, lse.detach(), 0.7, causal)
    for mine, theirs in zip(got, expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("S_q", "S_k"), [(5, 5), (3, 7)])
def test_the_forward_pass_is_torch_s(S_q, S_k):
    q, k, v, _ = draw(S_q, S_k)
    mask = reference.visible(S_q, S_k, True)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.7)
    torch.testing.assert_close(reference.attention_forward(q, k, v, 0.7, True)[0], expected)


def test_the_causal_mask_is_aligned_bottom_right():
    assert reference.visible(2, 4, True).tolist() == [[True, True, True, False], [True] * 4]
    assert reference.visible(3, 2, True).tolist() == [[False, False], [True, False], [True, True]]


def test_a_query_that_sees_nothing_has_zero_output_and_gradients():
    q, k, v, do = draw(7, 3)
    o, lse = reference.attention_forward(q, k, v, 0.7, True)
    assert not o[:, :, :4].any() and bool((lse[:, :, :4] == -math.inf).all())
    dq, dk, dv = reference.attention_gradients(q, k, v, o, do, lse, 0.7, True)
    assert not dq[:, :, :4].any() and all(bool(torch.isfinite(t).all()) for t in (dq, dk, dv))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("name", ["attention_forward_rounded", "attention_forward_base2"])
def test_forward_twins_are_the_same_formula(name, causal):
    q, k, v, _ = draw(7, 5)
    for mine, theirs in zip(
        getattr(reference, name)(q, k, v, 0.7, causal),
        reference.attention_forward(q, k, v, 0.7, causal),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("case", [*cases.SHARED, *LARGE], ids=lambda c: c.name)
def test_shared_cases_draw_what_their_names_say(case):
    inputs = cases.forward_inputs(case, case.generator())
    assert inputs["q"].shape[2:] == (case.sizes["S_q"], case.sizes["D"])
    assert inputs["k"].dtype is case.dtype
    saved = cases.causal_backward_inputs(case, case.generator())
    assert saved["lse"].dtype is torch.float32 and not torch.isnan(saved["lse"]).any()
