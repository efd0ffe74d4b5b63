"""A loop that cannot end is named with its line, and a loop that may end is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import flashlearn
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.observation import Place
from flashlearn.outcome import Status
from flashlearn.running.crashes import failure
from flashlearn.running.endless_loops import endless_loop

KERNELS = Path(flashlearn.__file__).parent / "kernels"

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


def test_a_list_that_grows_in_a_loop_is_not_said_to_stay_as_it_is(tmp_path):
    file = tmp_path / "cell.py"
    file.write_text("def train(n):\n    losses = []\n    while len(losses) < n:\n        losses.append(0)\n")
    assert endless_loop(Place(str(file), 4, "", "train")) is None


def test_a_stop_in_a_kernel_of_the_course_is_told_by_the_line_of_the_answer_that_runs_it(tmp_path):
    """The line that a limit meets by chance in a kernel that is right says nothing of a loop around it."""
    file = tmp_path / "cell.py"
    file.write_text("def train(n, run):\n    step = 0\n    while step < len(n):\n        run()\n")
    lent = compile("def run():\n    raise TimeLimit\n", str(KERNELS / "lent.py"), "exec")
    names = {"TimeLimit": TimeLimit}
    exec(lent, names)
    exec(compile(file.read_text(), str(file), "exec"), names)
    with pytest.raises(TimeLimit) as met:
        names["train"]([2], names["run"])
    met.value.__context__ = None  # a limit that another test in this process still handles, say
    status, sentence, place = failure(met.value, 1.0, names["train"])
    assert status is Status.TIMEOUT and (place.file, place.line) == (str(file), 3)
    assert sentence.endswith("Nothing in the loop `while step < len(n)` changes `n` or `step`.")
