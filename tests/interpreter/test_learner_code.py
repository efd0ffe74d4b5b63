"""Where an observed kernel is: its line, and those lines of the same file from which it was called."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flashlearn.interpreter.learner_code import LEARNER_CODE, find_place, place_of_error


def in_file(file: str, text: str, **names: object) -> Callable:
    """A function `f` of a file of its own, known as the learner's."""
    exec(compile(text, file, "exec"), names)
    LEARNER_CODE.add(names["f"].__code__)
    return names["f"]


def fails() -> None:
    raise ValueError


@pytest.mark.parametrize(("caller", "calls"), [("answer.py", (4,)), ("hooked_backward.py", ())])
def test_a_line_of_another_file_is_not_told_as_a_call(caller: str, calls: tuple[int, ...]):
    inner = in_file("answer.py", "def f():\n    return find()", find=find_place)
    outer = in_file(caller, "\n\ndef f():\n    return inner()", inner=inner)
    assert (outer().line, outer().calls) == (2, calls)

    inner = in_file("answer.py", "def f():\n    return find()", find=fails)
    outer = in_file(caller, "\n\ndef f():\n    return inner()", inner=inner)
    with pytest.raises(ValueError) as raised:
        outer()
    place = place_of_error(raised.value)
    assert (place.line, place.calls) == (2, calls)
