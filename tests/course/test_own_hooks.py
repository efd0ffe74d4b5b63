"""Hooks of lesson 15 are a learner's own where their exercise has passed, and the course's elsewhere."""

from __future__ import annotations

import types

import pytest
import triton

from flashlearn.course import answers, own_hooks
from flashlearn.kernels import dropout_attention, variants


@triton.jit
def window_mask(b, h, i, j, S_q, S_k, extras):
    return j <= i


def sliding_window(*inputs):
    """As a learner's cell defines it, beside a hook of the same name as the course's."""


@pytest.fixture(autouse=True)
def forgotten(monkeypatch):
    monkeypatch.setattr(own_hooks, "_taken", {})


def test_every_hook_is_there_and_the_course_s_unless_one_has_passed():
    for hooks in own_hooks.EXERCISES.values():
        for name in hooks:
            assert own_hooks.hook(name) is getattr(own_hooks, name)
    assert own_hooks.kept_weights is dropout_attention.kept_weights
    assert own_hooks.window_mask is variants.window_mask


def test_a_hook_of_a_function_that_passed_is_the_learner_s(monkeypatch):
    monkeypatch.setitem(answers.passed, "sliding_window", sliding_window)
    assert own_hooks.window_mask is window_mask
    assert own_hooks.window_keys is variants.window_keys  # not defined beside it, or under another name
    assert own_hooks.capped_score is variants.capped_score


def test_what_was_taken_comes_first(monkeypatch):
    own_hooks.take({"sliding_window": sliding_window})
    assert own_hooks.window_mask is window_mask


def test_a_name_that_no_exercise_has_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no exercise of lesson 15"):
        _ = own_hooks.window
    assert isinstance(own_hooks, types.ModuleType)
