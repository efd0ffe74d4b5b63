"""A result that is stored into an input is said as that, also where its strides lead the store astray."""

from __future__ import annotations

import pytest

from flashlearn.checking import grade
from flashlearn.explaining.findings.launcher import ChangedInput, NumbersBesides
from flashlearn.lessons import find
from flashlearn.outcome import Finding, Status
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


COPY = replaced_lines(IN_PLACE, "    z = y", "    z = y.contiguous()", "")


def test_numbers_that_are_wrong_besides_are_explained_after_the_changed_input():
    rounded = COPY.replace("a * x + y", "(a * x).to(z_ptr.dtype.element_ty) + y")
    found = report(rounded).finding
    assert found.names == ("changed input", "a·x is rounded")
    assert "z shares the memory of y" in found.sentence and "z is wrong as well" in found.sentence


def test_it_is_said_that_numbers_are_wrong_besides_where_nobody_knows_why():
    fault = Finding(ChangedInput("The input y has other values.", "5 elements"))
    words = NumbersBesides(("z",), "3000 elements", 1, 9, (fault,)).wording()
    assert "Besides, in case “3000 elements” z is wrong as well" in words.sentence
    assert words.next_step.endswith("check again.")
