"""The oracle is held against autograd; its twins against the oracle."""

import math

import pytest
import torch

from flashlearn.lessons.shared import reference as ref

SOFTMAXES = [ref.softmax, ref.softmax_from_lse, ref.softmax_base2]
BACKWARDS = [ref.softmax_backward, ref.softmax_backward_expanded]


def rows(*shape, scale=1.0, dtype=torch.float64):
    """Normally distributed numbers from a fixed seed."""
    generator = torch.Generator().manual_seed(2)
    return (scale * torch.randn(*shape, generator=generator, dtype=torch.float64)).to(dtype)


@pytest.mark.parametrize("softmax", SOFTMAXES)
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_softmax_in_fp64_is_torch_softmax(softmax, scale):
    x = rows(4, 3, 17, scale=scale)
    torch.testing.assert_close(softmax(x), torch.softmax(x, dim=-1), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("softmax", SOFTMAXES)
def test_autograd_through_softmax_passes_gradcheck(softmax):
    x = rows(3, 5).requires_grad_()
    assert torch.autograd.gradcheck(softmax, (x,))


@pytest.mark.parametrize("backward", BACKWARDS)
def test_softmax_backward_is_what_autograd_computes(backward):
    x, dp = rows(6, 9, scale=3.0).requires_grad_(), rows(6, 9)
    p = torch.softmax(x, dim=-1)
    (ds,) = torch.autograd.grad(p, x, dp)
    torch.testing.assert_close(backward(p.detach(), dp), ds, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("backward", BACKWARDS)
def test_softmax_backward_agrees_with_finite_differences(backward):
    class Softmax(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            p = ref.softmax(x)
            ctx.save_for_backward(p)
            return p

        @staticmethod
        def backward(ctx, dp):
            return backward(*ctx.saved_tensors, dp)

    assert torch.autograd.gradcheck(Softmax.apply, (rows(3, 5).requires_grad_(),))


@pytest.mark.parametrize("softmax", SOFTMAXES)
def test_minus_infinity_is_probability_zero_and_a_row_of_it_gives_zeros(softmax):
    x = torch.tensor([[0.0, -math.inf, 0.0], [-math.inf] * 3], dtype=torch.float64)
    torch.testing.assert_close(softmax(x), torch.tensor([[0.5, 0, 0.5], [0, 0, 0]], dtype=torch.float64))


def test_an_empty_row_has_no_gradient_and_an_infinite_logsumexp():
    x = torch.tensor([[1.0, 2.0], [-math.inf, -math.inf]], dtype=torch.float64)
    assert ref.logsumexp(x)[1] == -math.inf
    ds = ref.softmax_backward(ref.softmax(x), torch.ones_like(x))
    assert torch.equal(ds[1], torch.zeros(2, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("twin", SOFTMAXES + BACKWARDS)
def test_a_twin_keeps_its_dtype_and_rounds_once(twin, dtype):
    p = ref.softmax(rows(4, 200)).to(dtype)
    inputs = (p, rows(4, 200).to(dtype)) if twin in BACKWARDS else (rows(4, 200).to(dtype),)
    got, true = twin(*inputs), twin(*(t.double() for t in inputs))
    assert got.dtype == dtype
    assert ((got.double() - true).abs() <= 0.6 * torch.finfo(dtype).eps * true.abs().max()).all()


def test_logsumexp_survives_what_overflows_exp():
    x = torch.tensor([1000.0, 1000.0])
    torch.testing.assert_close(ref.logsumexp(x), torch.tensor(1000.0 + math.log(2)))
