"""What a case's name says of alpha is true of its inputs."""

from __future__ import annotations

import re

import pytest

from flashlearn.lessons import all_exercises

NAMED = re.compile(r"\balpha (\d[\d.]*)")

SAID = [
    pytest.param(exercise, case, id=f"{exercise.name}: {case.name}")
    for exercise in all_exercises().values()
    for case in exercise.cases
    if not case.gpu and (NAMED.search(case.name) or "negative alpha" in case.name)
]


@pytest.mark.parametrize(("exercise", "case"), SAID)
def test_a_case_named_after_alpha_has_that_alpha(exercise, case):
    alpha = exercise.inputs(case, case.generator())["alpha"]
    number = NAMED.search(case.name)
    assert alpha < 0 if "negative alpha" in case.name else float(alpha) == pytest.approx(float(number[1]))
