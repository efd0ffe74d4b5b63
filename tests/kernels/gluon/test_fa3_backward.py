"""The backward pass for Hopper compiles where there is no such GPU, and agrees with fp64 where there is."""

from __future__ import annotations

import contextlib
import math

import pytest
import torch
from triton.runtime.jit import mangle_type

from flashlearn.interpreter.errors import NeedsGpu
from flashlearn.interpreter.route import observing
from flashlearn.kernels.gluon import fa3_backward as module
from flashlearn.kernels.gluon.fa3_backward import fa3_backward
from flashlearn.machine import device
from tests.kernels.gluon.compiled import assembled

SHARED = 227 * 1024
"""Bytes that a program may have on Hopper."""
hopper_only = pytest.mark.skipif(
    not device.has_gpu() or torch.cuda.get_device_capability()[0] != 9, reason="WGMMA needs a Hopper GPU"
)

SPILLED_AT_MOST = 16
"""Bytes of registers that the kernel for D 128 puts aside: its loops over blocks of queries have none."""


def launched(D, causal=False):
    """The calls of one backward pass on a machine without a GPU, described as on one."""
    x = torch.empty(1, 2, 256, D, dtype=torch.bfloat16)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "launch", lambda key, tensors, calls: found.append((tensors, calls())))
        fa3_backward(x, x, x, x, x, torch.empty(1, 2, 256), causal)
    return found[0]


def assembled_call(call, folder):
    types = dict(zip(call.kernel.arg_names, map(mangle_type, call.arguments), strict=False))
    return assembled(call.kernel, types, call.constants, folder)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("D", [64, 128])
def test_the_kernel_compiles_for_hopper_and_spills_next_to_nothing(D, causal, tmp_path):
    made = assembled_call(launched(D, causal)[1][1], tmp_path)
    assert made.shared <= SHARED
    assert "cp.reduce.async.bulk.tensor" in made.ptx and "setmaxnreg.inc" in made.ptx
    assert made.spilled <= SPILLED_AT_MOST


def test_every_descriptor_is_of_a_tensor_that_later_launches_exchange():
    tensors, calls = launched(64)
    known = {id(t) for t in tensors}
    for call in calls:
        held = [getattr(one, "base", one) for one in call.arguments]
        assert {id(t) for t in held if isinstance(t, torch.Tensor)} <= known


@pytest.mark.parametrize("D", [64, 128])
def test_the_sum_as_threads_held_it_is_put_into_rows(D):
    rows = torch.arange(2 * 128 * D, dtype=torch.float32).view(2, 2, 64, D)
    # half of the columns, eight of them, warp, row of eight, pair, upper or lower row, column of the pair
    held = rows.view(2, 2, 4, 2, 8, 2, D // 16, 4, 2).permute(0, 1, 5, 6, 2, 4, 7, 3, 8).contiguous()
    dq = torch.zeros(1, 2, 100, D)
    with observing():
        module.finish_dq_kernel[(4,)](held, dq, 0.5, 100, 128, D)
    assert torch.equal(dq[0], rows.view(2, 128, D)[:, :100] * 0.5)


def reference(q, k, v, do, causal, alpha):
    """O, LSE and the gradients in fp64 through autograd; a query that sees no key gets zeros and −inf."""
    q, k, v = (t.double().requires_grad_() for t in (q, k, v))
    heads, S_q, S_k = q.shape[1] // k.shape[1], q.shape[2], k.shape[2]
    s = q @ k.repeat_interleave(heads, 1).mT * alpha
    if causal:
        rows, columns = (torch.arange(S, device=q.device) for S in (S_q, S_k))
        s = s.masked_fill(columns > rows[:, None] + S_k - S_q, -math.inf)
    lse = s.logsumexp(-1)
    p = (s - lse.clamp_min(-1e30)[..., None]).exp()
    o = p @ v.repeat_interleave(heads, 1)
    return o, lse, torch.autograd.grad(o, (q, k, v), do.double())


def drawn(shape, D, where):
    """q, k, v and do of the shape (B, H, H_k, S_q, S_k), strided as [B, S, H, D] in memory."""
    B, H, H_k, S_q, S_k = shape
    draw = torch.Generator(where).manual_seed(S_q)
    return (
        torch.randn(B, S, heads, D, device=where, generator=draw).to(torch.bfloat16).transpose(1, 2)
        for S, heads in ((S_q, H), (S_k, H_k), (S_k, H_k), (S_q, H))
    )


def assert_near_to_fp64(shape, D, causal, where, around=None):
    q, k, v, do = drawn(shape, D, where)
    o, lse, right = reference(q, k, v, do, causal, alpha=-0.2)
    with around or contextlib.nullcontext():
        answer = fa3_backward(q, k, v, o.detach().to(q.dtype), do, lse.detach().float(), causal, alpha=-0.2)
    for own, exact in zip(answer, right, strict=True):
        assert (own - exact).norm() <= 1e-2 * exact.norm()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("D", "shape"), [(64, (1, 2, 1, 100, 150)), (128, (1, 2, 2, 70, 40))])
def test_observed_gradients_agree_with_fp64(shape, D, causal):
    try:
        assert_near_to_fp64(shape, D, causal, "cpu", around=observing(seed=1))
    except NeedsGpu as reason:
        pytest.skip(f"this interpreter does not run Gluon: {reason}")


@hopper_only
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("D", [64, 128])
@pytest.mark.parametrize(
    "shape", [(2, 4, 2, 300, 300), (1, 4, 4, 100, 357), (2, 3, 1, 357, 100), (1, 2, 2, 513, 1025)]
)
def test_gradients_agree_with_fp64(shape, D, causal):
    assert_near_to_fp64(shape, D, causal, "cuda")


def test_what_these_kernels_cannot_take_is_refused_in_a_sentence():
    q = torch.zeros(1, 1, 8, 32, dtype=torch.float16)
    o, lse = torch.zeros_like(q), torch.zeros(1, 1, 8)
    with pytest.raises(ValueError, match="64 or 128"):
        fa3_backward(q, q, q, o, o, lse)
    with pytest.raises(TypeError, match="float16 or bfloat16"):
        fa3_backward(q.float(), q.float(), q.float(), o, o, lse)
