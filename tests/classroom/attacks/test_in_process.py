"""Right numbers that torch, Python or a replaced observer made earn nothing; the teacher is told."""

from __future__ import annotations

import pytest

from tests.classroom.attacks.in_process import IN_PROCESS
from tests.classroom.attacks.submissions import WHOLE, Attack
from tests.classroom.attacks.test_attacks import ASSIGNMENT, submission


@pytest.mark.parametrize("attack", IN_PROCESS, ids=lambda attack: attack.name)
def test_numbers_that_no_kernel_computed_earn_nothing(attack: Attack, grading_session):
    found = grading_session.grade(submission(attack), ASSIGNMENT)
    (one,) = found.exercises
    assert (found.status, found.points, one.points) == ("graded", 0, 0.0), one
    assert one.verdict in {"wrong", "not graded", "stopped"}
    assert one.for_teacher or one.verdict != "not graded"


def test_an_honest_answer_gets_its_points_after_them(grading_session):
    assert grading_session.grade(submission(WHOLE), ASSIGNMENT).points == 2
