"""Launches that skip Triton's search give the tensors of this call, never those of the call before."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from triton.tools.tensor_descriptor import TensorDescriptor

from flashlearn.kernels import compiled_launches
from flashlearn.kernels.compiled_launches import Call, launch

LOOKED_AT = compiled_launches._is_observed


class _Compiled:
    """Stands for a compiled kernel: notes what it is started with."""

    def __init__(self):
        self.started = []

    def __getitem__(self, grid):
        return lambda *arguments: self.started.append((grid, arguments))


class _Kernel:
    def __init__(self):
        self.compiled, self.searched = _Compiled(), 0

    def __getitem__(self, grid):
        def run(*arguments, **constants):
            self.searched += 1
            return self.compiled

        return run


@pytest.fixture
def kernel(monkeypatch):
    monkeypatch.setattr(compiled_launches, "CompiledKernel", _Compiled)
    monkeypatch.setattr(compiled_launches, "_compiled", {})
    monkeypatch.setattr(compiled_launches, "_is_observed", lambda: False)
    return _Kernel()


def _call(kernel, x, y):
    described = TensorDescriptor(x, list(x.shape), list(x.stride()), [4, 16])
    return [Call(kernel, (3, 2), (described, y, 7, 0.5), {"BLOCK": 64})]


def test_the_second_launch_gets_its_own_tensors_and_the_first_ones_numbers(kernel):
    for _ in range(2):
        x, y = torch.zeros(8, 16), torch.zeros(8)
        launch("key", (y, x), lambda x=x, y=y: _call(kernel, x, y))
    assert kernel.searched == 1
    [(grid, (described, place, *rest))] = kernel.compiled.started
    assert grid == (3, 2, 1)
    assert described.base is x
    assert list(described.shape) == [8, 16]
    assert list(described.strides) == [16, 1]
    assert place == y.data_ptr()
    assert rest == [7, 0.5, 64]


def test_another_key_is_searched_for_again(kernel):
    x, y = torch.zeros(8, 16), torch.zeros(8)
    launch("one", (x, y), lambda: _call(kernel, x, y))
    launch("other", (x, y), lambda: _call(kernel, x, y))
    assert kernel.searched == 2


def test_a_tensor_that_begins_unevenly_is_searched_for_and_not_kept(kernel):
    x, y = torch.zeros(8, 16), torch.zeros(9)[1:]
    for _ in range(2):
        launch("key", (x, y), lambda: _call(kernel, x, y))
    assert kernel.searched == 2
    even = torch.zeros(8)
    launch("key", (x, even), lambda: _call(kernel, x, even))
    launch("key", (x, y), lambda: _call(kernel, x, y))
    assert kernel.searched == 4


def test_what_is_kept_keeps_no_tensor_in_memory(kernel):
    x, y = torch.zeros(8, 16), torch.zeros(8)
    gone = weakref.ref(x)
    launch("key", (x, y), lambda x=x, y=y: _call(kernel, x, y))
    del x, y
    gc.collect()
    assert gone() is None


def test_where_launches_are_observed_nothing_is_started_past_the_observer(kernel, monkeypatch):
    x, y = torch.zeros(8, 16), torch.zeros(8)
    launch("key", (x, y), lambda: _call(kernel, x, y))
    monkeypatch.setattr(compiled_launches, "_is_observed", LOOKED_AT)

    def observed(self, *arguments, **options): ...

    monkeypatch.setattr(compiled_launches.JITFunction, "run", observed)
    launch("key", (x, y), lambda: _call(kernel, x, y))
    assert kernel.searched == 2
    assert not kernel.compiled.started
