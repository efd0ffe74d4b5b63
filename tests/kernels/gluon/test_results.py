"""The Hopper kernels' results against fp64: observed on a CPU where that works, compiled on a Hopper GPU."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from flashlearn.interpreter.errors import NeedsGpu
from flashlearn.interpreter.route import observing
from flashlearn.kernels.gluon.fa3_backward import fa3_backward
from flashlearn.kernels.gluon.fa3_forward import Cut, fa3_forward
from flashlearn.kernels.gluon.specialised_matmul import specialised_matmul
from flashlearn.kernels.gluon.tma_copy import tma_copy
from flashlearn.kernels.gluon.tma_ring import tma_ring
from flashlearn.kernels.gluon.wgmma_matmul import wgmma_matmul

HOPPER = torch.cuda.is_available() and torch.cuda.get_device_capability()[0] == 9
DEVICE = "cuda" if HOPPER else "cpu"
SHAPES = [
    # D, S_q, S_k, heads, heads of K and V, causal, alpha
    (64, 200, 300, 2, 1, True, -0.3),  # grouped queries, ragged, alpha below zero
    (128, 333, 200, 1, 1, True, None),  # the first queries see no key
    (128, 130, 260, 2, 2, False, None),
    (64, 1, 77, 1, 1, True, None),
]


@contextlib.contextmanager
def launched() -> Iterator[None]:
    """Compiled on a Hopper GPU; elsewhere observed, and skipped where Gluon is not observed."""
    if HOPPER:
        yield
        return
    with observing(seed=1):
        try:
            yield
        except NeedsGpu as error:
            pytest.skip(f"needs a Hopper GPU: {error}")


def rows(heads: int, length: int, D: int) -> Tensor:
    return torch.randn(1, heads, length, D, device=DEVICE).bfloat16()


def attention(q: Tensor, k: Tensor, v: Tensor, causal: bool, alpha: float | None) -> tuple[Tensor, Tensor]:
    H, S_q, D = q.shape[1:]
    k, v = (t.repeat_interleave(H // t.shape[1], 1) for t in (k, v))
    s = (1 / math.sqrt(D) if alpha is None else alpha) * q @ k.mT
    if causal:
        unseen = torch.ones(S_q, k.shape[2], dtype=torch.bool, device=q.device).triu(k.shape[2] - S_q + 1)
        s = s.masked_fill(unseen, -math.inf)
    lse = torch.logsumexp(s, -1)
    return torch.exp(s - torch.where(lse == -math.inf, 0.0, lse)[..., None]) @ v, lse


def far(got: Tensor, truth: Tensor) -> float:
    return ((got.double() - truth).norm() / truth.norm()).item()


def test_a_copy_equals_what_was_copied():
    x = torch.randn(100, 72, device=DEVICE)
    with launched():
        assert torch.equal(tma_copy(x), x)
        assert torch.equal(tma_copy(x.T), x.T)


@pytest.mark.parametrize("stages", [2, 3, 5])
def test_a_ring_of_any_length_sums_rows(stages):
    x = torch.randn(50, 260, device=DEVICE)
    with launched():
        assert torch.allclose(tma_ring(x, stages=stages), x.sum(1), atol=1e-4)


@pytest.mark.parametrize("product", [wgmma_matmul, specialised_matmul])
def test_products_of_ragged_matrices(product):
    a, b = torch.randn(200, 208, device=DEVICE).half(), torch.randn(208, 72, device=DEVICE).half()
    with launched():
        c = product(a, b)
    assert far(c, a.double() @ b.double()) < 1e-3


@pytest.mark.parametrize("cut", [Cut(), Cut(pingpong=True), Cut(consumers=3)], ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_forward_agrees_with_fp64(shape, cut):
    D, S_q, S_k, H, H_k, causal, alpha = shape
    if cut.consumers == 3 and D == 128:
        pytest.skip("three consumers have no registers for rows of 128")
    q, k, v = rows(H, S_q, D), rows(H_k, S_k, D), rows(H_k, S_k, D)
    with launched():
        o, lse = fa3_forward(q, k, v, causal, alpha, cut)
    o_true, lse_true = attention(q.double(), k.double(), v.double(), causal, alpha)
    assert far(o, o_true) < 5e-3
    assert torch.allclose(lse.double(), lse_true, atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_backward_agrees_with_fp64(shape):
    D, S_q, S_k, H, H_k, causal, alpha = shape
    q, k, v, do = rows(H, S_q, D), rows(H_k, S_k, D), rows(H_k, S_k, D), rows(H, S_q, D)
    wanted = [t.double().requires_grad_() for t in (q, k, v)]
    o, lse = attention(*wanted, causal, alpha)
    truth = torch.autograd.grad(o, wanted, do.double())
    with launched():
        got = fa3_backward(q, k, v, o.detach().bfloat16(), do, lse.detach().float(), causal, alpha)
    for gradient, true in zip(got, truth, strict=True):
        assert far(gradient, true.nan_to_num()) < 1e-2
