"""A result that is stored into an input is said as that, also where its strides lead the store astray."""

from __future__ import annotations

import pytest

from flashlearn.checking import grade
from flashlearn.lessons import find
from flashlearn.outcome import Status
from flashlearn.report import Report
from flashlearn.running.answer import Here
from tests.corpus.answer_files import replaced_lines, text_of
from tests.corpus.functions import function_from_text

IN_PLACE = text_of("scaled_add/wrong_in_place_in_y")


def report(text: str) -> Report:
    exercise = find("scaled_add")
    return grade(exercise, Here(function_from_text(text, "scaled_add"), exercise), lambda name: None)


@pytest.mark.parametrize("given", ["x", "y"])
def test_a_result_that_takes_an_input_s_memory_is_no_mistake_of_strides(given: str):
    found = report(replaced_lines(IN_PLACE, "    z = y", f"    z = {given}", ""))
    assert found.status is Status.OUT_OF_BOUNDS and found.finding.kind.name == "changed input"
    assert f"the input {given} has other values" in found.finding.sentence
    assert "memory" in found.finding.next_step and "stride" not in found.finding.next_step


def test_wrong_numbers_beside_it_are_not_passed_over():
    assert report(IN_PLACE.replace("a * x + y", "a * x - y")).finding.kind.name != "changed input"
