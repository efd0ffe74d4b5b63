"""Loops of an edited text end by a count of turns, outside kernels, and its lines stay where they are."""

from __future__ import annotations

import pytest

from flashlearn.running.counted_turns import COUNTER, MOST_TURNS, Counter, TooManyTurns, compiled

LOOPS = """
def launcher(n, step):
    size = 1
    while size < n:
        size += step
    return size
"""

KERNEL = """
def jit(function):
    return function

@jit
def kernel(n):
    while n > 0:
        n -= 1
    return n
"""


def run(text: str) -> dict:
    names = {COUNTER: Counter()}
    exec(compiled(text, "<edited>"), names)
    return names


def test_a_loop_that_makes_no_progress_ends_by_the_number_of_its_turns():
    with pytest.raises(TooManyTurns):
        run(LOOPS)["launcher"](8, 0)


def test_a_loop_that_ends_returns_what_it_would_and_keeps_its_lines():
    launcher = run(LOOPS)["launcher"]
    assert launcher(MOST_TURNS // 2, 1) == MOST_TURNS // 2
    lines = {line for *_, line in launcher.__code__.co_lines() if line is not None}
    assert lines == {2, 3, 4, 5, 6}


def test_a_decorated_function_is_compiled_as_it_is_written():
    assert COUNTER not in run(KERNEL)["kernel"].__code__.co_names
    assert run(KERNEL)["kernel"](2 * MOST_TURNS) == 0
