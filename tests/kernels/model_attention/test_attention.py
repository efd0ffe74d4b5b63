"""`flashlearn.attention`: what it refuses, and how it behaves among torch's own machinery."""

from __future__ import annotations

import functools

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import flashlearn
from flashlearn.kernels.model_attention import dispatch
from flashlearn.kernels.model_attention.forward import Extras
from flashlearn.kernels.model_attention.operators import attention_op
from flashlearn.kernels.model_attention.options import Options
from flashlearn.machine import device

attention = flashlearn.attention
WHERE = device.default()


def made(*shape: int, grad: bool = False, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, device=WHERE, dtype=dtype, requires_grad=grad)


def bounds(*ends: int) -> torch.Tensor:
    return torch.tensor(ends, dtype=torch.int32, device=WHERE)


Q, K = (2, 4, 8, 16), (2, 2, 8, 16)
PACKED = (8, 4, 16)


@pytest.mark.parametrize(
    ("shapes", "options", "words"),
    [
        ((Q[1:], K, K), {}, r"q has shape \(4, 8, 16\), expected \[B, H, S, D\] \(or \[T, H, D\] together"),
        ((Q, Q, Q), {"cu_seqlens_q": [0, 8]}, r"q has shape \(2, 4, 8, 16\), expected \[T, H, D\]: with cu"),
        ((Q, (2, 3, 8, 16), (2, 3, 8, 16)), {}, "q has 4 heads and k and v have 3: their number must divide"),
        ((Q, (1, 2, 8, 16), (1, 2, 8, 16)), {}, "q has B = 2 and k has 1"),
        ((Q, (2, 2, 8, 32), (2, 2, 8, 32)), {}, "q has rows of D = 16 and k of 32"),
        ((Q, K, (2, 2, 9, 16)), {}, r"k has shape \(2, 2, 8, 16\) and v \(2, 2, 9, 16\)"),
        (((1, 1, 4, 512),) * 3, {}, "D = 512, expected 1 to 256"),
        ((Q, K, K), {"window": 0}, "window is 0, expected at least 1"),
        ((Q, K, K), {"window": (3, -2)}, r"window is \(3, -2\), expected numbers of keys from 0 on"),
        ((Q, K, K), {"window": (1, 2, 3)}, r"window is \(1, 2, 3\), expected a number of keys, or a pair"),
        ((Q, K, K), {"softcap": -1.0}, "softcap is -1.0, expected a positive number"),
        ((Q, K, K), {"alpha": float("inf")}, "alpha is inf, expected a finite number"),
        ((Q, K, K), {"dropout_p": 1.0}, "dropout_p is 1.0, expected a probability from 0 up to, but not, 1"),
        ((Q, K, K), {"seed": 3}, "seed is given and dropout_p is 0"),
        ((Q, K, K), {"alibi": (3,)}, r"alibi has shape \(3,\), expected \(4,\) or \(2, 4\)"),
        ((Q, K, K), {"sinks": (2,)}, r"sinks has shape \(2,\), expected \(4,\)"),
        ((PACKED,) * 3, {"cu_seqlens_q": [0, 8]}, "cu_seqlens_q is given without cu_seqlens_k"),
        (
            (PACKED,) * 3,
            {"cu_seqlens_q": [0, 8], "cu_seqlens_k": [0, 3, 8]},
            "1 sequences and cu_seqlens_k 2",
        ),
        ((PACKED,) * 3, {"cu_seqlens_q": [8], "cu_seqlens_k": [8]}, r"torch.int32 of shape \(1,\), expected"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_sentence_with_its_sizes(shapes, options, words):
    given = {
        name: bounds(*value)
        if name.startswith("cu")
        else made(*value)
        if name in ("alibi", "sinks")
        else value
        for name, value in options.items()
    }
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        attention(*(made(*shape) for shape in shapes), **given)
    assert "\n" not in str(caught.value)


def test_dtypes_and_gradients_that_there_are_not_are_refused():
    q, k = made(*Q), made(*K)
    with pytest.raises(
        TypeError, match=r"k is torch.float16 and q is torch.float32: q, k and v share a dtype"
    ):
        attention(q, k.half(), k)
    with pytest.raises(TypeError, match=r"q is torch.int64, expected float32"):
        attention(q.long(), k, k)
    with pytest.raises(TypeError, match=r"q is list, expected a torch.Tensor"):
        attention([1.0], k, k)
    with pytest.raises(ValueError, match=r"slopes are constants here: pass alibi.detach"):
        attention(q, k, k, alibi=made(4, grad=True))
    with pytest.raises(ValueError, match=r"cu_seqlens_q is torch.int64 of shape \(2,\)"):
        attention(
            *(made(*PACKED) for _ in range(3)), cu_seqlens_q=bounds(0, 8).long(), cu_seqlens_k=bounds(0, 8)
        )


@pytest.mark.skipif(WHERE != "cpu", reason="on a GPU their values would cost a wait")
def test_bounds_that_do_not_cover_the_tensor_are_refused():
    with pytest.raises(ValueError, match=r"cu_seqlens_k is \[0, 5\], expected .* rise from 0 to T = 8"):
        attention(*(made(*PACKED) for _ in range(3)), cu_seqlens_q=bounds(0, 8), cu_seqlens_k=bounds(0, 5))


@pytest.mark.parametrize("grouped", [False, True])
def test_it_is_torch_s_attention_where_torch_has_it(grouped):
    q, k, v = made(*Q, grad=True), *(made(*(K if grouped else Q), grad=True) for _ in range(2))
    own = attention(q, k, v, causal=True)
    other = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
    torch.testing.assert_close(own, other, rtol=0, atol=1e-5)
    do = made(*Q)
    for a, b in zip(
        torch.autograd.grad(own, (q, k, v), do), torch.autograd.grad(other, (q, k, v), do), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-5)


@pytest.mark.parametrize("empty", [((0, 2, 4, 16),) * 2, ((1, 2, 0, 16), (1, 2, 4, 16)), (Q, (2, 4, 0, 16))])
def test_what_is_empty_has_zeros(empty):
    q, k = (made(*shape, grad=True) for shape in empty)
    o = attention(q, k, k)
    o.sum().backward()
    assert o.shape == q.shape
    assert not o.any()
    assert not q.grad.any()


def arguments() -> list[tuple]:
    q, (k, v) = made(*Q, grad=True), (made(*K, grad=True) for _ in range(2))
    packed = [made(8, 4, 16, grad=True), *(made(8, 2, 16, grad=True) for _ in range(2))]
    cu, seed = bounds(0, 3, 3, 8), torch.tensor([77], device=WHERE)
    sinks = made(4, grad=True)
    return [
        (q, k, v, None, None, None, None, None, None, None, 0, None, 0),
        (q, k, v, torch.rand(2, 4, device=WHERE), sinks, None, None, seed, 0.3, 4, 0, 3.0, 10000),
        (*packed, torch.rand(3, 4, device=WHERE), sinks, cu, cu, seed, 0.3, 4, 0, 3.0, 10000),
    ]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_operator_passes_torch_s_own_checks(which):
    found = torch.library.opcheck(attention_op, arguments()[which])
    assert found and set(found.values()) == {"SUCCESS"}


def test_compiled_whole_it_computes_the_same():
    q, k, v = (made(*Q, grad=True) for _ in range(3))
    call = functools.partial(attention, causal=True, window=4, softcap=2.0, dropout_p=0.2, seed=3)
    whole = torch.compile(call, fullgraph=True, backend="aot_eager")
    own, other = call(q, k, v), whole(q, k, v)
    torch.testing.assert_close(own, other)
    found = [torch.autograd.grad(o, (q, k, v), torch.ones_like(o)) for o in (own, other)]
    torch.testing.assert_close(*found)


def test_autocast_decides_on_the_dtype():
    q, k, v = (made(*Q) for _ in range(3))
    with torch.autocast(WHERE, dtype=torch.bfloat16):
        assert attention(q, k, v).dtype == torch.bfloat16


def test_fake_tensors_have_the_shapes_of_real_ones():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        q, k = (mode.from_tensor(torch.empty(shape)) for shape in (Q, K))
        o = attention(q, k, k, causal=True)
    assert o.shape == Q
    assert o.is_contiguous()


def test_vmap_and_second_derivatives_are_refused_in_a_sentence():
    q = made(*Q, grad=True)
    with pytest.raises(
        RuntimeError, match=r"flashlearn.attention cannot be vmapped: put the dimension into B"
    ):
        torch.func.vmap(lambda t: attention(t, t, t))(made(3, *Q))
    (first,) = torch.autograd.grad(attention(q, q, q).sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match=r"flashlearn.attention has no second derivative"):
        first.sum().backward()


def test_torch_func_grad_gives_the_gradient():
    q, k = made(*Q), made(*K)
    found = torch.func.grad(lambda t: attention(t, k, k, causal=True).sum())(q)
    leaf = q.clone().requires_grad_()
    attention(leaf, k, k, causal=True).sum().backward()
    torch.testing.assert_close(found, leaf.grad)


def test_inference_keeps_nothing_for_a_backward_pass():
    q = made(*Q, grad=True)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        with torch.no_grad():
            assert not attention(q, q, q).requires_grad
        assert not attention(*(made(*Q) for _ in range(3))).requires_grad
        assert not kept
        attention(q, q, q)
    assert kept


def test_a_seed_repeats_dropout_and_torch_s_generator_changes_it():
    q, k, v = (made(1, 2, 40, 16) for _ in range(3))
    drop = functools.partial(attention, q, k, v, dropout_p=0.5)
    assert torch.equal(drop(seed=4), drop(seed=4))
    assert not torch.equal(drop(seed=4), drop(seed=5))
    torch.manual_seed(0)
    first = drop()
    assert not torch.equal(first, drop())
    torch.manual_seed(0)
    assert torch.equal(first, drop())


def test_plain_attention_gets_the_fastest_kernels_and_features_get_the_pair():
    q = torch.empty(1, 4, 64, 64, dtype=torch.bfloat16, device="meta")
    assert dispatch.way(q, Options(0.1, right=0), Extras()) in ("tuned", "hopper")
    assert dispatch.way(q, Options(0.1, left=3, right=0), Extras()) == "variant"
    assert dispatch.way(q, Options(0.1), Extras(sinks=torch.empty(4))) == "variant"
    assert dispatch.way(torch.empty(1, 1, 1, 1), Options(0.1), Extras()) == "dense"


@pytest.mark.gpu
@pytest.mark.skipif(not device.has_gpu(), reason="on a CPU every sum has an order")
@pytest.mark.parametrize("features", [{}, {"window": 300}, {"softcap": 20.0}])
def test_on_request_two_backward_passes_agree_bit_for_bit(features):
    q, k, v = (made(2, 8, 2048, 128, grad=True, dtype=torch.bfloat16) for _ in range(3))
    torch.use_deterministic_algorithms(True)
    try:
        found = [
            torch.autograd.grad(attention(q, k, v, causal=True, **features).sum(), (q, k, v))
            for _ in range(2)
        ]
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
