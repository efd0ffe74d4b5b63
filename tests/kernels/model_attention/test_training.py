"""Lesson 09's finale with `flashlearn.attention`, compiled by torch: the same curve."""

from __future__ import annotations

import functools
import time

import pytest
import torch

from flashlearn.kernels.model_attention.attention import attention
from flashlearn.lessons.lesson_09_into_pytorch import training
from flashlearn.machine import device

causal = functools.partial(attention, causal=True)


@pytest.mark.gpu
@pytest.mark.skipif(not device.has_gpu(), reason="the large model is trained on a GPU")
@pytest.mark.slow
def test_a_compiled_model_learns_as_it_does_with_sdpa():
    size = training.LARGE
    start = training.initial(size, seed=0).to("cuda")
    data = training.batches(training.text(), size, seed=0).to("cuda")

    def run(attend, compiled=False):
        torch.manual_seed(0)
        model = training.Transformer(size, start)
        model = torch.compile(model) if compiled else model
        clock = time.perf_counter()
        losses = training.train(size, start, data, attend, model)
        torch.cuda.synchronize()
        print(f"{time.perf_counter() - clock:.1f} s, last loss {losses[-1]:.3f}")
        return losses

    with_sdpa, with_formula, ours = run(training.sdpa), run(training.plain), run(causal, compiled=True)
    drift, gap = (with_formula - with_sdpa).abs(), (ours - with_sdpa).abs()
    print(f"largest gap {gap.max():.1e} at step {int(gap.argmax())}; the formula's {drift.max():.1e}")
    assert gap.max() < max(0.05, 3 * drift.max())
    assert gap[: len(gap) // 10].max() < 0.002
