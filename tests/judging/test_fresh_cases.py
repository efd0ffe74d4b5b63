"""Fresh cases: other lengths and numbers, and the course's own solutions are right on them."""

import importlib
import math

import pytest

from flashlearn.exercise import Case, Exercise, Kind
from flashlearn.judging.cases import run_observed
from flashlearn.judging.fresh_cases import FIXED_DATA, fresh_cases
from flashlearn.lessons import all_exercises
from flashlearn.outcome import Status

NUMERIC = {
    name: exercise
    for name, exercise in all_exercises().items()
    if exercise.kind is not Kind.SYMBOLIC and exercise.judged.read is None
}


def smallest(exercise: Exercise, count: int) -> list[Case]:
    observed = [case for case in exercise.cases if not case.gpu]
    return sorted(observed, key=lambda c: math.prod(max(n, 1) for n in c.sizes.values()))[:count]


@pytest.mark.parametrize("name", NUMERIC)
def test_solution_is_right_on_fresh_cases(name: str) -> None:
    exercise = NUMERIC[name]
    module, _, function = exercise.solution.partition(":")
    solution = getattr(importlib.import_module(module), function) if module else exercise.reference
    fresh = fresh_cases(exercise, smallest(exercise, 4))
    assert fresh
    assert [run_observed(exercise, solution, case).status for case in fresh] == [Status.PASS] * len(fresh)


@pytest.mark.parametrize("name", NUMERIC)
def test_which_length_is_larger_stays_so(name: str) -> None:
    exercise = NUMERIC[name]
    bases = [case for case in exercise.cases if case.data not in FIXED_DATA]
    for base, fresh in zip(bases, fresh_cases(exercise, bases), strict=True):
        lengths = [k for k in base.sizes if base.sizes[k] != fresh.sizes[k]]
        assert base.seed != fresh.seed
        for a in lengths:
            assert fresh.sizes[a] > base.sizes[a]
            for b in lengths:
                assert (base.sizes[a] < base.sizes[b]) == (fresh.sizes[a] < fresh.sizes[b])


def test_a_symbolic_exercise_has_no_fresh_cases() -> None:
    exercise = all_exercises()["softmax_vjp"]
    assert fresh_cases(exercise, exercise.cases) == []
