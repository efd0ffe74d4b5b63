"""A line that makes partitions wait for ever is found by edits, also where another line waits."""

from __future__ import annotations

from flashlearn.explaining import diagnose
from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.outcome import Status
from tests.corpus import answer_files
from tests.corpus.functions import function_from_text


def checked(name, old, new):
    exercise = find(name)
    text = answer_files.text_of(f"{name}/_course_solution_without_markers")
    assert old in text
    function = function_from_text(text.replace(old, new), name)
    outcomes = run(exercise, function)
    return outcomes, diagnose(exercise, outcomes, function)


def test_bytes_that_are_counted_in_numbers_are_found_at_the_expect():
    outcomes, finding = checked("tma_copy", "x_desc.block_type.nbytes", "64 * 64 * 2 + 2")
    assert any(o.status is Status.CRASHED for o in outcomes)
    assert "with `x_desc.block_type.nbytes`" in finding.sentence and "expect" in finding.place.text
