"""Right numbers by another way than the one that is asked for earn nothing; the honest way does."""

from __future__ import annotations

import dataclasses

import pytest

from flashlearn.classroom.grading.confirmation import Confirmation, confirm
from flashlearn.classroom.grading.kernel_texts import earlier_texts, solution_texts
from flashlearn.classroom.records import AssignedExercise, Assignment, CodeCell, Submission
from flashlearn.lessons import find
from tests.classroom.attacks.second_round import (
    BETWEEN_PRODUCTS,
    EXPONENTIALS_IN_A_KERNEL,
    QUICK,
    SLOW,
    Evasion,
)
from tests.classroom.attacks.third_round import BESIDE_AN_EARLIER_KERNEL, THIRD_QUICK, THIRD_SLOW
from tests.classroom.generator import answers
from tests.classroom.grading.local_child import LocalChild
from tests.corpus import find_entry, function_from_text, right_entries

EVERY = {**QUICK, **THIRD_QUICK}
PATIENT = {**SLOW, **THIRD_SLOW}
NEEDS_ANOTHER = "train_with_your_kernel"
"""Its right answers use those to an exercise before it."""


@pytest.fixture(scope="module")
def patient_session():
    """With the limits that a class has: a test of what takes seconds is none of what is stopped."""
    from flashlearn.classroom.grading.session import GradingSession
    from flashlearn.classroom.sandbox import layers

    if why := layers.available().insufficient():
        pytest.skip(why)
    with GradingSession() as session:
        yield session


def graded(session, evasion: Evasion):
    exercise = find(evasion.exercise)
    asked = (AssignedExercise(exercise.name, exercise.lesson, exercise.points),)
    submission = Submission("Mallory", ("m.ipynb",), (CodeCell(evasion.text, exercise.name),), key="m")
    return session.grade(submission, Assignment("week 1", asked, "0", b"theirs", "key")).exercises[0]


@pytest.mark.parametrize("name", EVERY)
def test_another_way_earns_nothing(name: str, patient_session):
    one = graded(patient_session, EVERY[name])
    imprecise = one.mistake == "precision"  # some processors round a convolution's products more coarsely
    assert one.points == 0 and (imprecise or EVERY[name].says in one.sentence + one.for_teacher), one


@pytest.mark.slow
@pytest.mark.parametrize("name", PATIENT)
def test_nor_does_one_that_takes_long(name: str, patient_session):
    one = graded(patient_session, PATIENT[name])
    assert one.points == 0 and PATIENT[name].says in one.sentence + one.for_teacher, one


@pytest.mark.parametrize("evasion", [BETWEEN_PRODUCTS, EXPONENTIALS_IN_A_KERNEL], ids=["torch", "kernel"])
def test_what_torch_does_between_products_is_measured_by_what_the_reference_does_there(evasion: Evasion):
    exercise = _short(evasion.exercise)
    child = LocalChild(function_from_text(evasion.text, exercise.name), exercise)
    assert evasion.says in confirm(exercise, child, lambda: child, len(exercise.cases)).doubt


def test_a_kernel_of_an_earlier_lesson_beside_an_own_one_is_remarked_on(patient_session):
    one = graded(patient_session, BESIDE_AN_EARLIER_KERNEL)
    assert one.points == find(one.name).points and BESIDE_AN_EARLIER_KERNEL.says in one.for_teacher, one


def test_one_that_the_solution_calls_as_well_is_not():
    kernel = "def delta_preprocess_kernel"
    assert any(kernel in text for text in earlier_texts("08") & solution_texts("dkv_kernel"))
    assert confirmed("dkv_kernel", "transposed tiles") == ("", "")


def test_delta_by_torch_is_no_doubt():
    assert confirmed("clinic_4", "LSE of +∞ for rows that do not exist") == ("", "")


def confirmed(name: str, title: str) -> Confirmation:
    exercise = _short(name)
    child = LocalChild(find_entry(name, title).function, exercise)
    return confirm(exercise, child, lambda: child, len(exercise.cases))


def _short(name: str):
    exercise = find(name)
    observed = tuple(case for case in exercise.cases if not case.gpu)[:3]
    return dataclasses.replace(
        exercise, cases=observed, judged=dataclasses.replace(exercise.judged, review=None)
    )


@pytest.mark.parametrize("exercise", sorted({one.exercise for one in EVERY.values()} - {NEEDS_ANOTHER}))
def test_the_honest_way_gets_its_points(exercise: str, patient_session):
    texts = answers(True).get(exercise) or [one.text for one in right_entries() if one.exercise == exercise]
    one = graded(patient_session, Evasion(exercise, texts[0], ""))
    assert (one.points, one.for_teacher) == (find(exercise).points, ""), one
