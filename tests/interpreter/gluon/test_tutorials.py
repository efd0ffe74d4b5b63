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

from flashlearn.interpreter.gluon.sync_faults import SyncError
from flashlearn.interpreter.route import observing

FOLDER = os.environ.get("FLASHLEARN_GLUON_TUTORIALS", "")
ORDERS = (None, 1)
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
        with observing(seed=order):
            run()
        torch.testing.assert_close(got.float(), want.float(), atol=slack, rtol=slack)


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


@pytest.mark.parametrize("buffers", [2, 3])
def test_a_pipelined_product_with_aggregates(tutorial, buffers):
    a, b, c = torch.randn(200, 256).half(), torch.randn(256, 200).half(), torch.empty(200, 200).half()
    run = lambda: tutorial("persistence").matmul_pipelined(a, b, c, 128, 128, 64, buffers, 8)  # noqa: E731
    same(run, c, a.float() @ b.float(), 0.1)


@pytest.mark.parametrize("loads, stores", [(1, 1), (2, 2), (3, 1)])
def test_an_addition_by_three_partitions(tutorial, loads, stores):
    a, b = torch.randn(100, 200), torch.randn(100, 200)
    c = torch.empty_like(a)
    add = lambda: tutorial("warp-specialization").elementwise_add_warp_specialized(  # noqa: E731
        a, b, c, num_load_buffers=loads, num_store_buffers=stores
    )
    same(add, c, a + b)
