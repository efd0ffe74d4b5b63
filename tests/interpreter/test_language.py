"""Triton's language is whole again after every launch, whenever a launch is cut short."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.runtime import interpreter

from flashlearn.compiler.lowering import Lowering
from flashlearn.interpreter.builder import ObservedBuilder
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.interpreter.language import LanguageScope, interpreted, put_back
from flashlearn.interpreter.memory import Memory
from flashlearn.interpreter.route import observing
from flashlearn.interpreter.specialization import specialize

OWNERS = (tl, tl.core, tl.math, tl.tensor, tl.core.tensor_descriptor_base, gl, interpreter)


@triton.jit
def twice_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(x_ptr + at, 2 * x, mask=at < n)


@gluon.jit
def gluon_twice_kernel(x_ptr, n, BLOCK: gl.constexpr):
    at = gl.arange(0, BLOCK, layout=gl.BlockedLayout([1], [32], [4], [0]))
    gl.store(x_ptr + at, 2 * gl.load(x_ptr + at, mask=at < n), mask=at < n)


def doubles() -> bool:
    x = torch.ones(20)
    with observing(seed=1):
        twice_kernel[(2,)](x, 20, BLOCK=16)
    return bool((x == 2).all())


def gluon_doubles() -> bool:
    x = torch.ones(100)
    with observing(seed=1):
        gluon_twice_kernel[(1,)](x, 100, BLOCK=128)
    return bool((x == 2).all())


def language() -> list[dict]:
    return [
        {name: value for name, value in vars(owner).items() if name != "__annotations__"} for owner in OWNERS
    ]


def lent() -> None:
    """A launch's language, entered and never left."""
    manager = interpreted(ObservedBuilder(Memory(place=lambda: None)), lambda *_: None)
    manager.__enter__()
    kept.append(manager)  # else the generator's end would put things back


kept: list = []


@pytest.fixture(autouse=True)
def whole():
    put_back()
    before = language()
    yield
    kept.clear()
    put_back()
    assert language() == before


@pytest.mark.parametrize("call", [doubles, gluon_doubles])
def test_a_launch_leaves_no_trace_in_the_language(call):
    before = language()
    assert call()
    assert language() == before


@pytest.mark.parametrize("change", range(0, 120, 7))
def test_a_time_limit_in_the_middle_of_the_lending_leaves_no_trace(change, monkeypatch):
    before, put, count = language(), LanguageScope.set, iter(range(1000))

    def cut_short(*arguments):
        if next(count) == change:
            raise TimeLimit
        put(*arguments)

    monkeypatch.setattr(LanguageScope, "set", cut_short)
    with pytest.raises(TimeLimit):
        doubles()
    monkeypatch.undo()
    assert language() == before
    assert doubles()


@pytest.mark.parametrize("call", [doubles, gluon_doubles])
def test_the_launch_after_one_that_was_never_left_runs_on_a_whole_language(call):
    before = language()
    lent()
    assert language() != before
    assert call()
    assert language() == before


def test_a_kernel_is_lowered_while_a_launch_s_language_is_lent():
    launched = specialize(twice_kernel, (torch.ones(20), 20), {"BLOCK": 16})
    lent()
    with Lowering([launched]) as front_end:
        assert not front_end.refusals()
        assert front_end.forked.ended == 0
