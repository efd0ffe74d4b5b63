"""Lesson 15: formulas are those of autograd, plain hooks change nothing, and tiles are counted."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import triton
import triton.language as tl

from flashlearn.compiler.listing import listing
from flashlearn.interpreter.route import observing
from flashlearn.kernels import variants
from flashlearn.kernels.flash_backward_dkv import dkv_kernel
from flashlearn.kernels.flash_backward_dq import dq_kernel
from flashlearn.kernels.flash_forward import flash_forward
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries
from flashlearn.lessons import find
from flashlearn.lessons.lesson_15_variants import alibi, counted, passes, pictures, softcap
from flashlearn.lessons.shared import grouped
from tests.corpus import function_with_edits
from tests.reviewing import reviewed


def drawn(B=1, H=2, S_q=20, S_k=33, D=16, H_k=None, dtype=torch.float64):
    generator = torch.Generator().manual_seed(3)
    shapes = (H, S_q), (H_k or H, S_k), (H_k or H, S_k), (H, S_q)
    return [torch.randn(B, *shape, D, generator=generator).to(dtype) for shape in shapes]  # q, k, v, do


def by_autograd(q, k, v, do, alpha, score, seen, weights=1.0, sink=None):
    """Both passes, with torch's own softmax and derivatives."""
    leaves = [t.clone().requires_grad_() for t in (q, k, v)]
    many = [grouped.for_heads(t, q.shape[1]) for t in leaves[1:]]
    s = score(alpha * leaves[0] @ many[0].mT).masked_fill(~seen, -math.inf)
    if sink is not None:
        s = torch.cat([s, sink.view(1, -1, 1, 1).expand(*s.shape[:3], 1)], -1)
    p = torch.softmax(s, -1)[..., : k.shape[2]]
    o = (p * weights) @ many[1]
    return o.detach(), torch.logsumexp(s, -1).detach(), *torch.autograd.grad(o, leaves, do)


VARIANTS = {
    "plain": {},
    "shared heads": {"H": 4, "H_k": 2},
    "soft cap": {
        "score": lambda x: 2 * torch.tanh(x / 2),
        "derivative": lambda x: 1 - torch.tanh(x / 2) ** 2,
    },
    "window": {"window": 7},
    "weights": {
        "weights": torch.rand(20, 33, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    },
    "sink": {"sink": torch.tensor([0.5, -1.0], dtype=torch.float64)},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_formulas_of_both_passes_are_those_of_autograd(name):
    of = dict(VARIANTS[name])
    q, k, v, do = drawn(H=of.pop("H", 2), H_k=of.pop("H_k", None))
    seen = passes.visible(20, 33, q, of.pop("window", None))
    score, derivative = of.pop("score", passes.same), of.pop("derivative", passes.one)
    found = passes.both(q, k, v, do, 0.3, score, derivative, seen, **of)
    for one, other in zip(found, by_autograd(q, k, v, do, 0.3, score, seen, **of), strict=True):
        torch.testing.assert_close(one, other)


def test_a_pair_with_plain_hooks_is_the_kernels_that_it_was_made_from():
    q, k, v, do = drawn(dtype=torch.float32)
    o, lse = flash_forward(q, k, v, 0.3)
    then = o, lse, dq_kernel(q, k, v, o, do, lse, 0.3), *dkv_kernel(q, k, v, o, do, lse, 0.3)
    now = hooked_forward(q, k, v, 0.3)
    now = *now, *hooked_backward(q, k, v, now[0], do, now[1], 0.3)
    assert all(map(torch.equal, now, then))


@triton.jit
def packed(b, S_q, S_k, extras):
    first = tl.load(extras[0] + b)
    return first, first, tl.load(extras[0] + b + 1) - first, tl.load(extras[0] + b + 1) - first


def test_sequences_of_one_batch_are_each_computed_as_if_alone():
    q, k, v, do = drawn(S_q=70, S_k=70, dtype=torch.float32)
    ends = [0, 40, 41, 70]
    hooks = Hooks(
        mask=causal_mask, keys=causal_keys, queries=causal_queries, sequence=packed,
        extras=(torch.tensor(ends, dtype=torch.int32),),
    )  # fmt: skip
    lengths = (3, 40, 40)
    o, lse = hooked_forward(q, k, v, 0.3, hooks, lengths=lengths)
    found = o, lse, *hooked_backward(q, k, v, o, do, lse, 0.3, hooks, lengths=lengths)
    for first, end in itertools.pairwise(ends):
        own = [t[:, :, first:end] for t in (q, k, v, do)]
        seen = passes.visible(end - first, end - first, q)
        alone = passes.both(*own, 0.3, seen=seen)
        for one, other in zip(found, alone, strict=True):
            torch.testing.assert_close(one[:, :, first:end], other, rtol=1e-4, atol=1e-5)


@triton.jit
def row_with_sink(b, h, extras):
    return tl.load(extras[0] + h), 1.0


@triton.jit
def every_third(p, b, h, i, j, S_q, S_k, extras):
    return tl.where((i + j) % 3 == 0, p * 1.5, 0.0)


def test_a_row_begins_with_its_sink_and_weights_multiply_what_v_meets():
    q, k, v, do = drawn(dtype=torch.float32)
    sink = torch.tensor([0.5, -1.0])
    weights = torch.where((torch.arange(20)[:, None] + torch.arange(33)) % 3 == 0, 1.5, 0.0)
    hooks = Hooks(start=row_with_sink, weights=every_third, extras=(sink,))
    o, lse = hooked_forward(q, k, v, 0.3, hooks)
    found = o, lse, *hooked_backward(q, k, v, o, do, lse, 0.3, hooks)
    for one, other in zip(found, passes.both(q, k, v, do, 0.3, weights=weights, sink=sink), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("S_q", "S_k", "window"), [(256, 256, 33), (160, 256, 32), (256, 160, 100)])
def test_a_window_visits_the_tiles_that_it_needs_and_no_others(S_q, S_k, window):
    q, k, v, do = drawn(H=1, S_q=S_q, S_k=S_k, dtype=torch.float32)
    found = counted.loaded(variants.sliding_window, q, k, v, do, window, 0.3)
    needed = int(pictures.tiles_of(S_q, S_k, window, 32)[0].sum())
    tile = 32 * 16 * 4
    assert {found["forward"]["k"] // tile, found["dQ"]["k"] // tile, found["dK, dV"]["q"] // tile} == {needed}


@pytest.mark.parametrize("left_out", ["keys=window_keys, ", "queries=window_queries, "])
def test_a_window_whose_tiles_are_not_skipped_in_both_passes_is_sent_back(left_out):
    all_tiles = function_with_edits(variants.sliding_window, (left_out, ""))
    assert "in both passes" in reviewed(find("sliding_window"), all_tiles)
    assert not reviewed(find("sliding_window"), variants.sliding_window)


def test_slopes_are_those_of_the_paper():
    assert alibi.slopes_of(8).tolist() == [2.0**-h for h in range(1, 9)]
    assert alibi.slopes_of(16)[1] == 0.5


def test_each_way_of_writing_tanh_is_tanh():
    y = torch.linspace(-9, 9, 200, dtype=torch.float64)
    for spelled in (softcap.tanh_by_sigmoid, softcap.tanh_by_exp):
        torch.testing.assert_close(spelled(y), torch.tanh(y))


def test_a_launch_with_hooks_is_listed_for_a_gpu_that_is_not_here():
    q, k, v, do = (t.half() for t in drawn(dtype=torch.float32))
    with observing() as (session, _):
        variants.softcap(q, k, v, do, 5.0, 0.3)
    assert "wgmma" in listing(session.launches[0])["ptx"] or "mma" in listing(session.launches[0])["ptx"]


@pytest.mark.parametrize("name", ["gqa", "sliding_window", "softcap", "alibi"])
def test_every_twin_is_the_reference_in_fp64(name):
    exercise = find(name)
    case = exercise.cases[4]
    inputs = exercise.inputs(case, case.generator())
    wide = {n: t.double() if isinstance(t, torch.Tensor) else t for n, t in inputs.items()}
    right = exercise.reference(**wide)
    for twin in exercise.judged.twins:
        for one, other in zip(twin(**wide), right, strict=True):
            torch.testing.assert_close(one, other)
