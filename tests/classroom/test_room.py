"""A room whose processes are killed says that it failed, and the submission is to be graded again."""

from __future__ import annotations

import os
import signal

import pytest

from flashlearn.classroom.drawing import drawn
from flashlearn.classroom.grading import Room
from flashlearn.classroom.records import Asked, Assignment, Source, Submission
from flashlearn.classroom.sandbox import layers
from flashlearn.lessons import find
from tests.classroom.answers import IMPORTS, ROW_SUM

ASSIGNMENT = Assignment("week 1", (Asked("row_sum", "00", 2),), "0", b"theirs", "key")
SUBMISSION = Submission("Ada", ("ada.ipynb",), (Source(IMPORTS), Source(ROW_SUM, "row_sum")), "1")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["keeper", "judges"])
def test_a_room_without_one_of_its_processes_blames_no_student(which: str):
    if why := layers.standing().lacking():
        pytest.skip(why)
    with Room() as room:
        process = room.keeper.process if which == "keeper" else room.process
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        found = room.grade(SUBMISSION, ASSIGNMENT)
    assert found.status == "infrastructure" and found.points == 0
    assert "no fault of this submission" in found.exercises[0].sentence


def seeds(assignment: Assignment, submission: Submission) -> list[int]:
    return [case.seed for case in drawn(find("row_sum"), assignment, submission).cases]


def test_a_class_meets_the_same_draws_and_nobody_knows_the_seeds():
    other = Submission("Bob", (), (), "2")
    assert seeds(ASSIGNMENT, SUBMISSION) == seeds(ASSIGNMENT, other)
    assert not set(seeds(ASSIGNMENT, SUBMISSION)) & {case.seed for case in find("row_sum").cases}
    secret = Assignment("week 1", ASSIGNMENT.exercises, "0", b"another", "key")
    assert seeds(secret, SUBMISSION) != seeds(ASSIGNMENT, SUBMISSION)


def test_without_a_secret_the_draws_follow_from_the_submission():
    open_to_all = Assignment("week 1", ASSIGNMENT.exercises, "0", b"", "key")
    other = Submission("Ada", (), (), "2")
    assert seeds(open_to_all, SUBMISSION) == seeds(open_to_all, SUBMISSION)
    assert seeds(open_to_all, SUBMISSION) != seeds(open_to_all, other)
