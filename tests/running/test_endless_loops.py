"""A loop that cannot end is named with its line, and a loop that may end is not."""

from __future__ import annotations

import pytest

from flashlearn.observation import Place
from flashlearn.running.endless_loops import endless_loop

SOURCE = """
def kernel(n):
    start, left = 0, n
    while start < n:
        j = start + 1
    while left > 0:
        left -= 1
    while True:
        if n:
            break
    while True:
        n.wait()
"""


@pytest.fixture
def place(tmp_path):
    file = tmp_path / "cell.py"
    file.write_text(SOURCE)
    return lambda line: Place(str(file), line, "", "kernel")


def test_a_loop_whose_condition_tests_what_nothing_in_it_changes_is_named(place):
    loop, said = endless_loop(place(5))
    assert (loop.line, loop.text.strip()) == (4, "while start < n:")
    assert said == "Nothing in the loop `while start < n` changes `n` or `start`."


@pytest.mark.parametrize("line", [3, 7, 9])
def test_a_line_outside_loops_and_loops_that_may_end_are_passed_over(place, line):
    assert endless_loop(place(line)) is None


def test_a_condition_that_is_always_true_is_told_as_such(place):
    assert endless_loop(place(12))[1] == "The loop `while True` never ends by itself."
