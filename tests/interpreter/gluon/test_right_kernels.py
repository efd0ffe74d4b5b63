"""Right Gluon kernels compute what they should, in every order of their partitions, and are told nothing."""

from __future__ import annotations

import pytest
import torch

from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing
from tests.interpreter.gluon.gluon_kernels import (
    attended,
    copy_tiles,
    described,
    exchange,
    product,
    scaled_rows,
)
from tests.interpreter.gluon.turn_kernels import squared

ORDERS = (None, 0, 1, 2)


def test_pointers_slices_and_reductions():
    x, y = torch.randn(21, 30), torch.empty(21)
    with observing(seed=1) as (session, _):
        scaled_rows[(3,)](x, y, 21, 30, x.stride(0), 2.0, R=8, C=32)
    torch.testing.assert_close(y, 2 * x.sum(1).clamp(min=0))
    assert session.observation().traffic["x_ptr"].loaded == x.numel() * 4


def test_a_copy_fills_with_zeros_and_drops_what_lies_beyond():
    x, y = torch.randn(50, 40), torch.empty(50, 40)
    with observing(seed=1) as (session, _):
        copy_tiles[(2,)](described(x, [32, 64]), described(y, [32, 64]))
    assert torch.equal(x, y)
    assert session.observation().traffic["y_desc"].stored == y.numel() * 4


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_specialised_product_is_right_in_every_order(order, stages):
    a, b = torch.randn(100, 200).half(), torch.randn(200, 72).half()
    with observing(seed=order) as (session, _):
        c = product(a, b, stages=stages)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), atol=0.05, rtol=1e-2)
    seen = session.observation()
    assert seen.operations["dot"] == 2 * 2 * 2 * 64 * 64 * 256 and not seen.warnings


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(64, 64), (100, 130)])
def test_attention_with_rings_that_are_aggregates(dtype, shape):
    rows, keys = shape
    q, k, v = (torch.randn(n, 64).to(dtype) for n in (rows, keys, keys))
    with observing(seed=3):
        o = attended(q, k, v)
    want = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double())
    torch.testing.assert_close(o.double(), want, atol=2e-2, rtol=0)


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("stages", [1, 3])
def test_turns_are_counted_by_an_aggregate_whose_constants_have_methods(stages, parts):
    x = torch.randn(64, 512)
    for order in ORDERS:
        with observing(seed=order) as (session, _):
            assert torch.equal(squared(x, stages, parts), x * x)
        assert not session.observation().warnings


@pytest.mark.parametrize("order", ORDERS)
def test_what_one_partition_stored_another_loads_behind_a_barrier(order):
    y = torch.empty(128)
    with observing(seed=order):
        exchange[(1,)](y, FAULT="")
    assert (y == 7).all()


def test_a_launch_outside_any_check_is_observed_too():
    import flashlearn

    if flashlearn.DEVICE == "cuda":
        pytest.skip("with a GPU, launches outside a check are compiled")
    a, b = torch.randn(64, 64).half(), torch.randn(64, 64).half()
    torch.testing.assert_close(product(a, b).float(), a.float() @ b.float(), atol=0.05, rtol=1e-2)
    with pytest.raises(SyncError):
        product(a, b, "no fence")
