"""A run checks who takes part, times them in turns, and leaves out who cannot: tried here with told times."""

from __future__ import annotations

import dataclasses
import sys
import types
from importlib import machinery

import pytest
import torch

from flashlearn.bench import flash_attn_4, measure
from flashlearn.bench.contestants import (
    CUDNN,
    Contestant,
    contestants,
    launchers,
    plain_backward,
    plain_forward,
)
from flashlearn.bench.problems import DIRECTIONS, Problem
from flashlearn.bench.tables import tables
from flashlearn.bench.validation import validation_error
from flashlearn.kernels.torch_attention import eager
from flashlearn.machine.timers import Timer

TINY = Problem(1, 1, 16, 16)


class Counts(Timer):
    """Every call is made, and takes 10 ms."""

    def times(self, calls):
        for call in calls:
            call()
        return [10.0] * len(calls)


@pytest.fixture(scope="module")
def found() -> dict[str, Contestant]:
    return {one.name: one for one in contestants()}


@pytest.mark.parametrize("name", ["plain", "tuned", "eager", "sdpa"])
@pytest.mark.parametrize("causal", [False, True])
def test_contestants_are_right_in_every_direction(found, name, causal):
    assert validation_error(found[name], (dataclasses.replace(TINY, causal=causal),), "cpu") == ""


def test_a_contestant_that_is_wrong_or_raises_is_refused_with_the_reason():
    def twice(q, k, v, causal, alpha):
        o, lse = plain_forward(q, k, v, causal, 2 * alpha)
        return o, lse

    wrong = Contestant("wrong", "", launchers(twice, plain_backward))
    assert "D 16, S 16, full: o of forward is off by" in validation_error(wrong, (TINY,), "cpu")
    assert "SDPA" not in validation_error(wrong, (TINY,), "cpu")
    here = {one.name: one for one in contestants()}
    assert validation_error(here[CUDNN], (TINY,), "cpu").startswith("D 16, S 16, full: RuntimeError: ")


def test_flash_attention_4_is_left_out_with_a_sentence_where_it_is_not_installed(monkeypatch):
    monkeypatch.setattr(flash_attn_4, "MODULE", "no_such_package.cute")
    asked = {one.name: one for one in contestants(fa4=True)}
    assert "flash-attn-4" not in {one.name for one in contestants()}
    reason = validation_error(asked["flash-attn-4"], (TINY,), "cpu")
    assert reason == "The package flash-attn-4 is not installed."


@pytest.mark.parametrize("returns", [tuple, lambda found: found[0]])
def test_flash_attention_4_gets_its_own_order_of_axes(monkeypatch, returns):
    def attention(q, k, v, softmax_scale, causal):  # [B, S, H, D]
        assert q.shape == (1, 16, 3, 16)
        o = eager(*(t.transpose(1, 2) for t in (q, k, v)), causal, softmax_scale).transpose(1, 2)
        return returns((o, None))

    module = types.ModuleType("stand_in_for_fa4")
    module.flash_attn_func, module.__spec__ = attention, machinery.ModuleSpec("stand_in_for_fa4", None)
    monkeypatch.setitem(sys.modules, "stand_in_for_fa4", module)
    monkeypatch.setattr(flash_attn_4, "MODULE", "stand_in_for_fa4")
    found = {one.name: one for one in contestants(fa4=True)}["flash-attn-4"]
    assert validation_error(found, (Problem(1, 3, 16, 16, causal=True),), "cpu") == ""


def test_a_problem_is_timed_in_every_direction_by_all_that_can(found):
    left_out: dict[str, str] = {}
    taking_part = [found["eager"], found[CUDNN], dataclasses.replace(found["sdpa"], longest=8)]
    cells = measure.time_problem(TINY, taking_part, left_out, Counts(), on="cpu")
    assert [(c.contestant, c.direction) for c in cells] == [("eager", direction) for direction in DIRECTIONS]
    assert {(c.milliseconds, c.spread, c.rounds) for c in cells} == {(10.0, 0.0, 20)}
    assert list(left_out) == ["sdpa cudnn, D 16, S 16, full, forward"] and all(left_out.values())


def test_small_problems_are_timed_through_autograd(found):
    calls = []

    def backward(*given):
        calls.append("backward")
        return tuple(torch.zeros_like(t) for t in given[:3])

    own = Contestant("own", "", launchers(lambda q, k, v, causal, alpha: (q.clone(), q[..., 0]), backward))
    cells = measure.time_small(TINY, [own, found["sdpa"]], {}, Counts(), on="cpu")
    assert [(c.contestant, c.direction) for c in cells] == [
        *(("own", "forward"), ("sdpa", "forward"), ("own", "both"), ("sdpa", "both"))
    ]
    assert calls


def test_a_whole_run_makes_a_record_that_can_be_shown(found, monkeypatch):
    monkeypatch.setattr(measure, "contestants", lambda flex, fa4: [found["eager"], found[CUDNN]])
    monkeypatch.setattr(measure, "precompile", lambda *_: None)
    monkeypatch.setattr(
        measure, "validation_error", lambda one: "It is not here." if one.name == CUDNN else ""
    )
    monkeypatch.setattr(measure.ceilings, "ceilings", lambda: measure.ceilings.Ceilings(1e15, 1e12))
    monkeypatch.setattr(measure, "default_timer", Counts)
    monkeypatch.setattr(measure, "WallClockTimer", Counts)
    monkeypatch.setattr(measure.shapes, "SMALL", (TINY,))
    monkeypatch.setattr(measure.shapes, "REMEMBERED", (TINY,))
    monkeypatch.setattr(Problem, "draw", lambda self, device="cpu", draw=Problem.draw: draw(self, "cpu"))
    lines: list[str] = []
    record = measure.run(table=[TINY], say=lines.append)
    assert record.left_out == {CUDNN: "It is not here."} and list(record.contestants) == ["eager"]
    assert {cell.contestant for cell in (*record.cells, *record.small)} == {"eager"}
    assert any("eager" in line and "TFLOP/s forward" in line for line in lines)
    assert len(list(tables(record))) >= 4
