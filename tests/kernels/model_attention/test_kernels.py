"""The variants' kernels agree with fp64 for every feature and pair of features, and leak nothing."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
import torch

from flashlearn.bench import attention_sweep as sweep
from flashlearn.interpreter.route import observing
from flashlearn.kernels.model_attention.backward import variant_backward
from flashlearn.kernels.model_attention.dense import dense_backward, dense_forward, kept_weights
from flashlearn.kernels.model_attention.forward import Extras, variant_forward
from flashlearn.kernels.model_attention.options import STEPS, Options
from flashlearn.kernels.model_attention.tiles import tile_list
from flashlearn.machine import device

on_a_cpu = pytest.mark.skipif(device.has_gpu(), reason="accesses are observed on a CPU")
needs_gpu = pytest.mark.skipif(not device.has_gpu(), reason="compiled kernels need a GPU")
SOME = [replace(draw, D=min(32, draw.D)) for draw in sweep.draws(len(sweep.pairs()), seed=5, longest=34)]


@pytest.mark.parametrize("draw", SOME, ids=lambda draw: " and ".join(sorted(draw.features)) or "plain")
def test_observed_kernels_are_as_near_to_fp64_as_torch(draw):
    races = []

    def observed(given):
        with observing(seed=1) as (session, _):
            found = sweep.by_kernels(given)
            races.append(session.memory.races.found)
            return found

    assert sweep.ratio(draw, "cpu", observed) <= sweep.ALLOWED
    assert not any(races)


@needs_gpu
@pytest.mark.gpu
@pytest.mark.parametrize("draw", list(sweep.draws(12, seed=99)), ids=lambda draw: str(draw.seed))
def test_compiled_kernels_are_as_near_to_fp64_as_torch(draw):
    assert sweep.ratio(draw, "cuda", sweep.by_attention) <= sweep.ALLOWED


def test_every_feature_and_every_pair_is_drawn():
    drawn = {draw.features for draw in sweep.draws(500)}
    assert drawn == set(sweep.pairs())
    assert len(drawn) == 1 + 9 + 36 - 1  # one pair excludes itself: two kinds of window


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, device=device.default())


def computed(q, k, v, do, options: Options, extras: Extras) -> list[torch.Tensor]:
    if q.is_cuda:
        o, lse = variant_forward(q, k, v, options, extras)
        return [o, *variant_backward(q, k, v, o, do, lse, options, extras)[:3]]
    with observing(seed=2):
        o, lse = variant_forward(q, k, v, options, extras)
        return [o, *variant_backward(q, k, v, o, do, lse, options, extras)[:3]]


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_a_number_that_is_none_stays_in_its_own_packed_sequence(wrong):
    cu = torch.tensor([0, 20, 45], dtype=torch.int32, device=device.default())
    q, k, v, do = (normal(1, 2, 45, 16) for _ in range(4))
    right = computed(q, k, v, do, Options(0.25, right=0), Extras(cu_q=cu, cu_k=cu))
    for t in (q, k, v, do):
        t[:, :, 20:] = wrong
    spoilt = computed(q, k, v, do, Options(0.25, right=0), Extras(cu_q=cu, cu_k=cu))
    for a, b in zip(right, spoilt, strict=True):
        assert torch.equal(a[:, :, :20], b[:, :, :20])


@on_a_cpu
def test_bounds_that_are_wrong_touch_nothing_outside_of_the_tensors():
    cu = torch.tensor([0, 70, -5, 40000], dtype=torch.int32, device=device.default())
    q, k, v, do = (normal(1, 1, 33, 16) for _ in range(4))
    found = computed(q, k, v, do, Options(0.25), Extras(cu_q=cu, cu_k=cu))  # out of bounds would raise
    assert [one.shape for one in found] == [q.shape, q.shape, k.shape, v.shape]


@on_a_cpu
def test_a_window_visits_only_the_tiles_that_it_touches():
    q, k, v, do = (normal(1, 1, 256, 16) for _ in range(4))

    def bytes_read(left: int) -> int:
        with observing() as (session, _):
            o, lse = variant_forward(q, k, v, Options(0.25, left=left, right=0))
            variant_backward(q, k, v, o, do, lse, Options(0.25, left=left, right=0))
        return sum(traffic.loaded for traffic in session.observation().traffic.values())

    assert bytes_read(15) < 0.6 * bytes_read(256)


def test_dropout_keeps_its_share_and_does_not_depend_on_tiles():
    seed = torch.tensor([2**61 + 12345])
    threshold = round(0.3 * STEPS)
    keep = kept_weights(seed, range(4), 200, 300, threshold)
    assert abs(keep.double().mean().item() - 0.7) < 0.005
    assert torch.equal(keep[2:, 100:, :37], kept_weights(seed, range(2, 4), 200, 37, threshold)[:, 100:])
    halves = keep[:, ::2].double().mean(), keep[:, :, ::2].double().mean(), keep[0].double().mean()
    assert all(abs(share.item() - 0.7) < 0.01 for share in halves)


def test_the_list_of_tiles_has_each_tile_of_each_sequence_once():
    lengths = [3, 0, 64, 65, 0, 200, 1]
    cu = torch.tensor([0, *torch.tensor(lengths).cumsum(0)], dtype=torch.int32, device=device.default())
    if cu.is_cuda:
        found = tile_list(cu, 64, sum(lengths))
    else:
        with observing(seed=3):
            found = tile_list(cu, 64, sum(lengths))
    wanted = [[z, block] for z, length in enumerate(lengths) for block in range(-(-length // 64))]
    assert found.tolist() == wanted + [[-1, -1]] * (len(found) - len(wanted))


def by_formula(q, k, v, sinks, softcap, slopes, hidden) -> torch.Tensor:
    """The definition, written once more: for autograd."""
    group = q.shape[1] // k.shape[1]
    k, v = (t.repeat_interleave(group, 1) for t in (k, v))
    s = softcap * torch.tanh(0.3 * (q @ k.mT) / softcap)
    S_q, S_k = s.shape[-2:]
    i, j = torch.arange(S_q)[:, None], torch.arange(S_k)[None, :]
    s = s - slopes[:, None, None] * (i + S_k - S_q - j).abs()
    s = s.masked_fill(hidden, -torch.inf)
    s = torch.cat([s, sinks[:, None, None].expand(*s.shape[:3], 1)], dim=-1)
    return torch.softmax(s, -1)[..., :-1] @ v


def test_the_dense_formulas_are_the_definition_and_its_gradient():
    q, do = (torch.randn(2, 4, 9, 8, dtype=torch.float64) for _ in range(2))
    k, v = (torch.randn(2, 2, 12, 8, dtype=torch.float64) for _ in range(2))
    sinks, slopes = torch.randn(4, dtype=torch.float64), torch.rand(4, dtype=torch.float64)
    i, j = torch.arange(9)[:, None] + 3, torch.arange(12)[None, :]
    hidden = (j < i - 4) | (j > i + 1)
    leaves = [t.clone().requires_grad_() for t in (q, k, v, sinks)]
    o = by_formula(*leaves, 1.7, slopes, hidden)
    true = [o, *torch.autograd.grad(o, leaves, do)]
    options, extras = Options(0.3, 4, 1, 1.7), Extras(slopes.expand(2, 4), sinks)
    mine, lse = dense_forward(q, k, v, options, extras)
    found = [mine, *dense_backward(q, k, v, mine, do, lse, options, extras)]
    for a, b in zip(found, true, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


@needs_gpu
def test_two_backward_passes_agree_bit_for_bit():
    q, k, v, do = (t.bfloat16() for t in (normal(2, 4, 700, 64) for _ in range(4)))
    options = Options(0.125, left=200, right=0, softcap=20.0)
    o, lse = variant_forward(q, k, v, options)
    back = functools.partial(variant_backward, q, k, v, o, do, lse, options)
    assert all(torch.equal(a, b) for a, b in zip(back()[:3], back()[:3], strict=True))
