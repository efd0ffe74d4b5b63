"""Triton's own Gluon tutorials run observed, from a folder that has them.

Set FLASHLEARN_GLUON_TUTORIALS to a copy of python/tutorials/gluon of Triton's repository. Their kernels are
launched on CPU tensors; a stand-in says that a Hopper GPU is there, which the files ask for.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import triton
from triton.experimental.gluon import language as gl

from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing

FOLDER = os.environ.get("FLASHLEARN_GLUON_TUTORIALS", "")
ORDERS = (None, 1)
SMS = 3
"""So few that a persistent program gets several tiles."""
pytestmark = pytest.mark.skipif(
    not Path(FOLDER).is_dir() or not FOLDER, reason="FLASHLEARN_GLUON_TUTORIALS names no folder"
)


@pytest.fixture
def tutorial(monkeypatch):
    """Import a tutorial by the words of its file's name."""
    target = SimpleNamespace(backend="cuda", arch=90, warp_size=32)
    driver = SimpleNamespace(get_current_target=lambda: target)
    monkeypatch.setattr(triton.runtime.driver, "_active", driver, raising=False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    few = SimpleNamespace(multi_processor_count=SMS)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: few)
    monkeypatch.syspath_prepend(FOLDER)
    before = set(sys.modules)

    def load(words):
        (name,) = (path.stem for path in Path(FOLDER).glob(f"[0-9][0-9]-{words}.py"))
        return importlib.import_module(name)

    yield load
    for name in set(sys.modules) - before:
        if name[:2].isdigit():
            del sys.modules[name]


def same(run, got, want, slack=0.0):
    for order in ORDERS:
        got.fill_(float("nan"))
        with observing(seed=order) as (session, _):
            run()
        torch.testing.assert_close(got.float(), want.float(), atol=slack, rtol=slack)
        assert not session.observation().warnings


def blocked(*warps):
    """A layout for one dimension or two, the last of which is contiguous."""
    ones = [1] * (len(warps) - 1)
    return gl.BlockedLayout([*ones, 1], [*ones, 32], list(warps), list(range(len(warps)))[::-1])


def factors(m, n, k):
    return torch.randn(m, k).half(), torch.randn(k, n).half(), torch.empty(m, n).half()


def test_copies_of_scalars(tutorial):
    x, one = torch.randn(500), torch.tensor([42.0])
    y, other = torch.empty_like(x), torch.empty_like(one)
    same(lambda: tutorial("intro").copy_scalar(one, other), other, one)
    same(lambda: tutorial("intro").memcpy(x, y, 64), y, x)
    same(lambda: tutorial("intro").memcpy_autotune(x, y), y, x)


def test_copies_in_one_dimension_and_in_two(tutorial):
    x, wide = torch.randn(200), torch.randn(40, 70)
    y, out = torch.empty_like(x), torch.empty_like(wide)
    layouts = tutorial("layouts")
    same(lambda: layouts.memcpy_1d_impl(x, y, 128, blocked(4), num_warps=4), y, x)
    same(lambda: layouts.memcpy_2d_impl(wide, out, 32, 64, blocked(1, 4), num_warps=4), out, wide)
    same(lambda: layouts.memcpy_2d_impl(wide.T, out.T, 32, 64, blocked(1, 4), num_warps=4), out, wide)


@pytest.mark.parametrize("turned", [False, True])
def test_a_copy_between_two_layouts(tutorial, turned):
    x, y = torch.randn(150, 140), torch.empty(140, 150).T
    x, y = (x.T, y.T) if turned else (x, y)
    same(lambda: tutorial("layouts").memcpy_2d_inout(x, y), y, x)


def test_additions_from_global_memory_and_with_cp_async(tutorial):
    a, b = torch.randn(100, 200), torch.randn(100, 200)
    c = torch.empty_like(a)
    module = tutorial("async-copy")
    flat = gl.SwizzledSharedLayout(vec=1, per_phase=1, max_phase=1, order=[1, 0])
    same(lambda: module.elementwise_add(a, b, c, 32, 64), c, a + b)
    same(lambda: module.elementwise_add_cpasync(a, b, c, flat, 32, 64), c, a + b)


@pytest.mark.parametrize("buffers", [1, 2, 3])
def test_additions_pipelined_with_cp_async_and_with_tma(tutorial, buffers):
    a, b = torch.randn(100, 200), torch.randn(100, 200)
    c = torch.empty_like(a)
    same(lambda: tutorial("async-copy").elementwise_add_pipelined(a, b, c, num_buffers=buffers), c, a + b)
    same(lambda: tutorial("tma").elementwise_add_tma(a, b, c, num_buffers=buffers), c, a + b)


def test_one_copy_in_and_one_out(tutorial):
    x = torch.randn(500)
    y = torch.empty_like(x)
    same(lambda: tutorial("async-copy").memcpy_1d_cpasync(x, y, 128), y, x)
    same(lambda: tutorial("tma").memcpy_1d_tma(x, y, 64), y, x)


@pytest.mark.parametrize("in_registers", [False, True])
def test_a_small_product(tutorial, in_registers):
    a, b, c = torch.randn(64, 32).half(), torch.randn(32, 32).half(), torch.randn(64, 32)
    d = torch.empty_like(c)
    run = lambda: tutorial("wgmma").small_mma(a, b, c, d, 16, in_registers)  # noqa: E731
    same(run, d, a.float() @ b.float() + c, 1e-3)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_blocked_product(tutorial, transposed):
    a = torch.randn(208, 304).half()
    b = torch.randn(416, 304).half() if transposed else torch.randn(304, 416).half()
    c = torch.empty(208, 416)
    run = lambda: tutorial("wgmma").blocked_mma(a, b, c, 64, 64, 64, transposed, False, 4)  # noqa: E731
    same(run, c, a.float() @ (b.T if transposed else b).float(), 1e-2)


def test_the_overlapped_blocked_product_of_early_versions_loads_over_what_is_being_multiplied(tutorial):
    a, b, c = torch.randn(64, 192).half(), torch.randn(192, 64).half(), torch.empty(64, 64)
    try:
        with observing():
            tutorial("wgmma").blocked_mma(a, b, c, 64, 64, 64, False, True, 4)
    except SyncError as error:
        assert error.sync.kind == "wgmma not waited for"
    else:
        torch.testing.assert_close(c, a.float() @ b.float(), atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_blocked_product_in_half_precision(tutorial, transposed):
    a, b, c = factors(208, 416, 304)
    given = b.T.contiguous() if transposed else b
    run = lambda: tutorial("wgmma").blocked_matmul(a, given, c, 128, 128, 128, transposed, 8)  # noqa: E731
    same(run, c, a.float() @ b.float(), 0.1)


def test_a_blocked_product_with_two_buffers(tutorial):
    a, b, c = factors(104, 208, 304)
    run = lambda: tutorial("wgmma").blocked_matmul_pipelined(a, b, c, 64, 64, 64, 4)  # noqa: E731
    same(run, c, a.float() @ b.float(), 0.1)


@pytest.mark.parametrize("buffers", [2, 3])
def test_a_pipelined_product_with_aggregates(tutorial, buffers):
    a, b, c = torch.randn(200, 256).half(), torch.randn(256, 200).half(), torch.empty(200, 200).half()
    run = lambda: tutorial("persistence").matmul_pipelined(a, b, c, 128, 128, 64, buffers, 8)  # noqa: E731
    same(run, c, a.float() @ b.float(), 0.1)


@pytest.mark.parametrize("buffers", [2, 3, 4])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_persistent_product_by_each_schedule(tutorial, which, buffers):
    a, b, c = factors(208, 416, 304)
    module = tutorial("persistence")
    schedule = module.schedulers[which]
    same(
        lambda: module.persistent_matmul(a, b, c, 64, 128, 64, buffers, 4, schedule),
        c,
        a.float() @ b.float(),
        0.1,
    )


@pytest.mark.parametrize("buffers", [3, 4])
@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_persistent_product_that_loads_ahead_leaves_a_load_that_nobody_waits_for(
    tutorial, which, buffers
):
    a, b, c = factors(104, 208, 304)
    module = tutorial("persistence")
    schedule = module.schedulers[which]
    run = lambda: module.persistent_matmul_pipelined(a, b, c, 64, 64, 64, buffers, 4, schedule)  # noqa: E731
    try:
        same(run, c, a.float() @ b.float(), 0.1)
    except SyncError as error:
        assert error.sync.kind == "copy never waited for"


@pytest.mark.parametrize("loads, stores", [(1, 1), (2, 2), (3, 1)])
def test_an_addition_by_three_partitions(tutorial, loads, stores):
    a, b = torch.randn(100, 200), torch.randn(100, 200)
    c = torch.empty_like(a)
    add = lambda: tutorial("warp-specialization").elementwise_add_warp_specialized(  # noqa: E731
        a, b, c, num_load_buffers=loads, num_store_buffers=stores
    )
    same(add, c, a + b)
