"""Gluon launches are lowered and compiled for the GPU that they name, and for no other."""

from __future__ import annotations

import pytest
import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from flashlearn import compiler
from flashlearn.compiler import packing
from flashlearn.compiler.lowering import Lowering
from flashlearn.interpreter.route import observing
from tests.interpreter.gluon.gluon_kernels import attended, product
from tests.interpreter.gluon.turn_kernels import squared


@gluon.jit
def two_layouts(x_ptr):
    one: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])
    other: gl.constexpr = gl.BlockedLayout([2], [32], [4], [0])
    i = gl.arange(0, 256, one)
    x = gl.reshape(gl.load(x_ptr + i), [256])
    gl.store(x_ptr + gl.arange(0, 256, other), x)


@gluon.jit
def three_columns(x_ptr):
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 24, 16])
    x = gl.full([64, 64], 1.0, gl.float32, layout)
    gl.store(x_ptr, gl.max(gl.max(x, axis=1), axis=0))


def launched(run):
    with observing() as (session, _):
        run()
    return session.observation().launches[0]


def half(*shape):
    return torch.randn(*shape).half()


def test_the_front_end_takes_right_kernels_and_aggregates():
    launches = [launched(lambda: product(half(64, 128), half(128, 64)))]
    launches += [launched(lambda: attended(half(64, 64), half(64, 64), half(64, 64)))]
    launches += [launched(lambda: squared(torch.randn(64, 256), stages=2, parts=4))]
    with Lowering([launch.specialised for launch in launches]) as lowering:
        assert lowering.refusals() == ()


def test_layouts_that_do_not_fit_are_refused_with_the_line():
    launch = launched(lambda: two_layouts[(1,)](torch.zeros(256)))
    with Lowering([launch.specialised]) as lowering:
        (refusal,) = lowering.refusals()
    assert "ayout" in refusal.sentence and refusal.place.text.strip().startswith("gl.store")


def test_a_layout_on_which_the_compiler_dies_is_refused_with_the_line():
    launch = launched(lambda: three_columns[(1,)](torch.zeros(1)))
    with Lowering([launch.specialised]) as lowering:
        (refusal,) = lowering.refusals()
    assert "assertion" in refusal.sentence and refusal.place.text.strip().startswith("gl.store")


@pytest.mark.parametrize("kernel", ["product", "attended"])
def test_a_gluon_kernel_has_a_budget_for_hopper_alone(kernel):
    run = {
        "product": lambda: product(half(64, 128), half(128, 64)),
        "attended": lambda: attended(half(64, 64), half(64, 64), half(64, 64)),
    }[kernel]
    (budget,) = compiler.compile_launch(launched(run))
    assert (budget.target, budget.error, budget.advice) == (90, "", "")
    assert budget.tensor_cores == "wgmma" and budget.tma and budget.warps == 8
    assert budget.registers > 24 and budget.shared_bytes > 2 * 2 * 64 * 64 * 2


def test_an_aggregate_is_shipped_once_with_what_it_can_do():
    job = packing.pack(launched(lambda: attended(half(64, 64), half(64, 64), half(64, 64))))
    (ring,) = job["aggregates"]
    assert set(ring["members"]) == {"create", "fill", "take", "give_back"}
    assert set(ring["fields"]) == {"tiles", "full", "empty", "stages"}
