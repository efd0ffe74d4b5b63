"""After `make solutions`: every exercise was checked in its solved notebook and passed in all its cases."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flashlearn.exercise import Exercise
from flashlearn.lessons import all_exercises

RECORD = os.environ.get("SOLVED")


@pytest.fixture(scope="module")
def verdicts() -> dict[str, dict]:
    """The last verdict on each exercise, from the file that $SOLVED names."""
    if RECORD is None:
        pytest.skip("needs the verdicts of the solved notebooks (make solutions writes them)")
    lines = Path(RECORD).read_text(encoding="utf-8").splitlines()
    return {verdict["exercise"]: verdict for verdict in map(json.loads, lines)}


@pytest.mark.parametrize("exercise", all_exercises().values(), ids=lambda exercise: exercise.name)
def test_the_solution_passes_in_every_case_in_its_notebook(exercise: Exercise, verdicts):
    verdict = verdicts[exercise.name]
    assert verdict["passed"], verdict["sentence"]
    assert verdict["cases"] >= sum(not case.gpu for case in exercise.cases)
