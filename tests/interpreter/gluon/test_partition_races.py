"""Two partitions that meet in global memory with nothing between them are told so, with both lines."""

from __future__ import annotations

import pytest
import torch

from flashlearn.interpreter.gluon import fault_kinds
from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing
from tests.interpreter.gluon.global_kernels import doubled, met

ORDERS = (None, 0, 1, 2)
ACCESSES = {
    "two writes": {"store"},
    "read": {"load", "store"},
    "read before": {"load", "store"},
    "a plain write of a sum": {"atomic", "store"},
}
RIGHT = {
    "rows of its own": 1.0,
    "the same value": 1.0,
    "two sums": 3.0,
    "behind a barrier": 2.0,
    "one after another": 2.0,
    "read behind a barrier": 1.0,
    "read of what stays": 0.0,
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", ACCESSES)
def test_what_nothing_orders_is_told_with_both_lines(how, order):
    with pytest.raises(SyncError) as caught, observing(seed=order):
        met(how)
    fault = caught.value.sync
    assert fault.kind == "global memory"
    assert {fault.facts["what"], fault.facts["did"]} == ACCESSES[how]
    assert {fault.facts["who"], fault.facts["other"]} == {"first", "second"} and fault.facts[
        "at"
    ] == "y_ptr[0]"
    said = fault_kinds.sentence(fault)
    assert all(f"line {place.line}" in said for place in fault.places) and len(set(fault.places)) == 2


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("how", RIGHT)
def test_what_is_apart_or_ordered_is_told_nothing(how, order):
    with observing(seed=order) as (session, _):
        x, y = met(how)
    assert (y[:128] == RIGHT[how]).all() and (y[256:] == y[:128]).all()
    assert (x == RIGHT[how]).all() or "read" not in how
    assert not session.observation().warnings


@pytest.mark.parametrize("order", ORDERS)
def test_rows_that_a_copy_has_brought_may_be_written_in_place(order):
    x = torch.randn(192, 64)
    want = 2 * x
    with observing(seed=order):
        assert torch.equal(doubled(x, "in place"), want)


@pytest.mark.parametrize("order", ORDERS)
def test_a_copy_out_over_rows_that_are_on_their_way_in_is_told(order):
    with pytest.raises(SyncError) as caught, observing(seed=order):
        doubled(torch.randn(192, 64), "over the next rows")
    fault = caught.value.sync
    assert fault.kind == "global memory" and {fault.facts["what"], fault.facts["did"]} == {"load", "store"}
