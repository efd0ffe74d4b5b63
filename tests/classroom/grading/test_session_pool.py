"""Rooms keep to themselves; one whose processes are killed says so, and the submission is graded again."""

from __future__ import annotations

import dataclasses
import os
import select
import signal
import socket

import pytest

from flashlearn.classroom.grading.judge_client import Judges
from flashlearn.classroom.grading.seeds import drawn
from flashlearn.classroom.grading.session import Room
from flashlearn.classroom.job import Grading, Job
from flashlearn.classroom.records import Asked, Assignment, Source, Submission
from flashlearn.classroom.sandbox import layers
from flashlearn.classroom.sandbox.answer import Confined
from flashlearn.classroom.sandbox.child import Piece, Wanted
from flashlearn.classroom.sandbox.client import Keeper, Maker
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.classroom.workers.pool import Pool
from flashlearn.lessons import find
from flashlearn.running.run_modes import PlainCall
from tests.classroom.answers import IMPORTS, ROW_SUM
from tests.classroom.processes import alive, beneath, command

ASSIGNMENT = Assignment("week 1", (Asked("row_sum", "00", 2),), "0", b"theirs", "key")
SUBMISSION = Submission("Ada", ("ada.ipynb",), (Source(IMPORTS), Source(ROW_SUM, "row_sum")), "1")


@pytest.mark.parametrize("which", ["keeper", "judges"])
def test_a_room_without_one_of_its_processes_blames_no_student(which: str, room: Room):
    gone, other = socket.socketpair()
    other.close()
    keeper = Maker(gone, room.keeper.walls, room.keeper.limits) if which == "keeper" else room.keeper
    judges = Judges(gone, 0) if which == "judges" else room.judges
    found = Room(keeper=keeper, judges=judges).grade(SUBMISSION, ASSIGNMENT)
    assert found.status == "infrastructure" and found.points == 0
    assert "no fault of this submission" in found.exercises[0].sentence


@pytest.mark.slow
def test_whichever_process_of_a_run_is_killed_every_submission_gets_its_grade():
    if why := layers.standing().lacking():
        pytest.skip(why)
    kinds = ["sandbox.server", "workers.server", ""]
    jobs = [
        Job(dataclasses.replace(SUBMISSION, student=str(n), key=str(n)), ASSIGNMENT)
        for n in range(len(kinds) + 1)
    ]
    found = {}
    with Pool(Grading(), workers=1) as pool:
        for job, grade in pool.run(jobs):
            found[job.submission.student] = grade.status, grade.points
            if kinds:  # the last of a kind: the room, the fork that makes judges, all there is
                kind = kinds.pop(0)
                of = [number for number in beneath(os.getpid()) if kind in command(number) and alive(number)]
                os.kill(of[-1] if kind else pool.house.process.pid, signal.SIGKILL)
    assert found == {job.submission.student: ("graded", 2) for job in jobs}
    assert pool.house.started == 2


FILLS = """
def filled(x):
    with open("mine", "wb", buffering=0) as file:
        try:
            return [file.write(bytes(1 << 20)) for _ in range(100)]
        except OSError as error:
            return file.tell() >> 20, type(error).__name__
"""


def test_what_one_room_fills_no_other_lacks_and_a_rooms_end_is_its_childrens_alone():
    if why := layers.standing().lacking():
        pytest.skip(why)
    with Keeper(limits=Limits(scratch=8 << 20)) as keeper:
        rooms = [keeper.room(), keeper.room()]
        if None in rooms:
            pytest.skip("rooms cannot be forked here")
        with Confined(rooms[0]) as one, Confined(rooms[1]) as other:
            for child in (one, other):
                child.run_cells([Piece(1, FILLS)], {})
                child.load(Wanted("filled", "torch"))
            found = [child.run({"x": 1}, PlainCall()).returned for child in (one, other)]
            if layers.BUBBLEWRAP in keeper.walls or layers.NAMESPACES in keeper.walls:
                assert found == [(8, "OSError")] * 2
            rooms[0].close()
            select.select([one.handle], [], [])
            assert other.run_cells([Piece(2, "1 + 1")], {}) == []


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
