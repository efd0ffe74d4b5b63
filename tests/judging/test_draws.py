"""Inputs are the same wherever they are drawn, and each is drawn once."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from flashlearn.exercise import Exercise, Kind
from flashlearn.judging import draws
from flashlearn.judging.draws import Draws, draw_on, without_data
from flashlearn.lessons import all_exercises, find
from flashlearn.running.values import same

DRAWN = [e for e in all_exercises().values() if e.kind is Kind.KERNEL]


@pytest.mark.parametrize("exercise", DRAWN, ids=lambda e: e.name)
def test_drawn_by_another_generator_of_the_same_seed_inputs_are_the_same(exercise: Exercise):
    for case in [case for case in exercise.cases if not case.gpu][:4]:
        plain = exercise.inputs(case, case.generator())
        again = draw_on(exercise, case, "cpu", case.generator())
        assert again is not None and plain.keys() == again.keys(), case.name
        for name, value in plain.items():
            alike = isinstance(value, torch.Tensor) and value.stride() == again[name].stride()
            assert same(value, again[name]) if alike else value == again[name], (case.name, name)


@pytest.mark.parametrize("exercise", DRAWN, ids=lambda e: e.name)
def test_what_a_gpu_meets_can_be_drawn_on_another_device(exercise: Exercise):
    for case in (case for case in (*exercise.cases, exercise.timed.case) if case is not None and case.gpu):
        found = without_data(exercise, case)
        assert found is not None, case.name
        drawn = (v for v in found.values() if isinstance(v, torch.Tensor) and v.is_floating_point())
        devices = {v.device.type for v in drawn}  # lengths of sequences are no draws, and are read
        assert devices == {"meta"}, case.name


@pytest.fixture
def found(monkeypatch):
    """Truths that were found, in order; none was kept before."""
    found = []
    monkeypatch.setattr(draws, "_recent", {})
    monkeypatch.setattr(draws, "Truth", lambda *given: found.append(given[1]) or given)
    return found


def test_each_case_is_drawn_once_and_its_truth_found_once(found):
    exercise = find("row_sum")
    drawn, case = Draws(exercise), exercise.cases[0]
    assert drawn.of(case).inputs is drawn.inputs(case) is drawn.of(case).inputs
    assert drawn.of(case).truth is drawn.of(case).truth and len(found) == 1
    assert drawn.of(case, tf32=True).truth[2] and len(found) == 2


def test_the_next_check_finds_what_the_observer_s_cases_are_drawn_from(found):
    exercise = find("row_sum")
    case, other = exercise.cases[:2]
    assert Draws(exercise).of(case) is Draws(exercise).of(case) is not Draws(exercise).of(other)
    own = dataclasses.replace(exercise, outputs=("another",))
    assert Draws(own).of(case) is not Draws(exercise).of(case) and len(found) == 3


def test_of_many_exercises_and_of_cases_that_are_made_up_nothing_is_kept(found):
    exercises = [
        find(name) for name in ("row_sum", "tiled_matmul", "flash_forward", "dq_kernel", "dkv_kernel")
    ]
    assert len(exercises) == draws.CACHED_EXERCISES + 1
    for exercise in exercises:
        Draws(exercise).of(exercise.cases[0])
    assert id(exercises[0]) not in draws._recent and len(draws._recent) == draws.CACHED_EXERCISES
    exercise = exercises[-1]
    strange, drawn = dataclasses.replace(exercise.cases[0], seed=99), Draws(exercise)
    assert drawn.of(strange) is not Draws(exercise).of(strange)
    before = drawn.of(strange).inputs
    drawn.forget(strange)
    assert drawn.of(strange).inputs is not before
