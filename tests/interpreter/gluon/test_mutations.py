"""No single wait, fence, arrival, count or phase of the small kernels can be wrong without being told."""

from __future__ import annotations

import pytest
import torch

from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing
from flashlearn.kernels.gluon import specialised_matmul, tma_copy, tma_ring, wgmma_matmul
from tests.interpreter.gluon.mutations import Mutation, imported, mutations

MODULES = (tma_copy, tma_ring, wgmma_matmul, specialised_matmul)
ORDERS = (None, 1)
NEXT_SLOT = "the next slot in mbarrier.wait(empty.index(at), phase ^ 1)"
"""A variant whose numbers are right, and that hangs where the producer is slower than the consumers."""
EVERY = [one for module in MODULES for one in mutations(module)]


def problem(module: str):
    """A call of a module's launcher on a ragged problem, and what it should give."""
    generator = torch.Generator().manual_seed(0)
    if module.startswith("tma"):
        x = torch.randn(70, 300, generator=generator)
        want = x if module == "tma_copy" else x.sum(dim=1)
        return lambda found: getattr(found, module)(x, (32, 32)), want
    a = torch.randn(100, 320, generator=generator).half()
    b = torch.randn(320, 72, generator=generator).half()
    block = (64, 64, 32) if module == "wgmma_matmul" else (128, 64, 32)
    return lambda found: getattr(found, module)(a, b, block=block), a.float() @ b.float()


def ran(mutation: Mutation, folder, order: int | None):
    """What a variant gives, or the fault."""
    call, want = problem(mutation.module)
    found = imported(mutation, folder)
    try:
        with observing(seed=order) as (session, _):
            got = call(found)
    except SyncError as error:
        return error, session
    return torch.allclose(got.float(), want.float(), atol=0.05), session


@pytest.mark.parametrize("mutation", EVERY, ids=str)
def test_a_kernel_with_one_synchronisation_less_or_off_is_told_so_in_every_order(mutation, tmp_path):
    for order in ORDERS:
        fault, _ = ran(mutation, tmp_path, order)
        assert fault is not True, f"in order {order} nothing is seen of it"
        if isinstance(fault, SyncError):
            assert any(f"{place.line}" in str(fault) for place in fault.sync.places if place), fault


def test_a_wait_that_nothing_puts_before_the_end_of_its_phase_is_told_in_every_order(tmp_path):
    (variant,) = (one for one in EVERY if one.said == NEXT_SLOT)
    for order in ORDERS:
        fault, _ = ran(variant, tmp_path, order)
        assert isinstance(fault, SyncError) and fault.sync.kind in ("phase may be over", "deadlock")


def test_there_is_a_variant_for_each_of_the_calls_that_synchronise():
    removed = [one for one in EVERY if one.said.startswith("without")]
    assert len(removed) == 4 + 4 + 7 + 10, [str(one) for one in removed]
