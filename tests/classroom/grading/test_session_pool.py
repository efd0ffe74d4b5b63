"""Sessions share nothing; one whose processes are killed reports it, and the submission is graded again."""

from __future__ import annotations

import dataclasses
import os
import select
import signal
import socket

import pytest

from flashlearn.classroom.grading.judge_client import JudgeServer
from flashlearn.classroom.grading.seeds import with_secret_seeds
from flashlearn.classroom.grading.session import GradingSession
from flashlearn.classroom.job import Grading, Job
from flashlearn.classroom.records import AssignedExercise, Assignment, CodeCell, Submission
from flashlearn.classroom.sandbox import layers
from flashlearn.classroom.sandbox.answer import SandboxedAnswer
from flashlearn.classroom.sandbox.child import CellText, FunctionRequest
from flashlearn.classroom.sandbox.client import SandboxFactory, SandboxServer
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.classroom.workers.pool import Pool
from flashlearn.lessons import find
from flashlearn.running.run_modes import PlainCall
from tests.classroom.answers import IMPORTS, ROW_SUM
from tests.classroom.processes import alive, forks

ASSIGNMENT = Assignment("week 1", (AssignedExercise("row_sum", "00", 2),), "0", b"theirs", "key")
SUBMISSION = Submission("Ada", ("ada.ipynb",), (CodeCell(IMPORTS), CodeCell(ROW_SUM, "row_sum")), "1")


@pytest.mark.parametrize("which", ["sandbox", "judges"])
def test_a_session_without_one_of_its_processes_blames_no_student(
    which: str, grading_session: GradingSession
):
    gone, other = socket.socketpair()
    other.close()
    sandbox = grading_session.sandbox
    sandbox = SandboxFactory(gone, sandbox.layers, sandbox.limits) if which == "sandbox" else sandbox
    judges = JudgeServer(gone, 0) if which == "judges" else grading_session.judges
    found = GradingSession(sandbox=sandbox, judges=judges).grade(SUBMISSION, ASSIGNMENT)
    assert found.status == "infrastructure" and found.points == 0
    assert "not the fault of this submission" in found.exercises[0].sentence


@pytest.mark.slow
def test_whichever_process_of_a_run_is_killed_every_submission_gets_its_grade():
    if why := layers.available().insufficient():
        pytest.skip(why)
    kinds = [("sandbox.server", 1), ("workers.server", 2), ("workers.server", 0)]
    jobs = [
        Job(dataclasses.replace(SUBMISSION, student=str(n), key=str(n)), ASSIGNMENT)
        for n in range(len(kinds) + 1)
    ]
    found = {}
    with Pool(Grading(), workers=1) as pool:
        for job, grade in pool.run(jobs):
            found[job.submission.student] = grade.status, grade.points
            if kinds:  # the factory of sandboxed children, the fork that makes judges, and the worker server
                of = [number for number in forks(os.getpid(), *kinds.pop(0)) if alive(number)]
                assert of
                for number in of:
                    os.kill(number, signal.SIGKILL)
    assert found == {job.submission.student: ("graded", 2) for job in jobs}
    assert pool.server.started == 2


FILLS = """
def filled(x):
    with open("mine", "wb", buffering=0) as file:
        try:
            return [file.write(bytes(1 << 20)) for _ in range(100)]
        except OSError as error:
            return file.tell() >> 20, type(error).__name__
"""


def test_factories_have_separate_scratch_folders_and_the_end_of_one_ends_only_its_own_children():
    if why := layers.available().insufficient():
        pytest.skip(why)
    with SandboxServer(limits=Limits(scratch=8 << 20)) as server:
        factories = [server.factory(), server.factory()]
        if None in factories:
            pytest.skip("factories cannot be forked here")
        with SandboxedAnswer(factories[0]) as one, SandboxedAnswer(factories[1]) as other:
            for child in (one, other):
                child.run_cells([CellText(1, FILLS)], {})
                child.load(FunctionRequest("filled", "torch"))
            found = [child.run({"x": 1}, PlainCall()).returned for child in (one, other)]
            if layers.BUBBLEWRAP in server.layers or layers.NAMESPACES in server.layers:
                assert found == [(8, "OSError")] * 2
            factories[0].close()
            select.select([one.pidfd], [], [])
            assert other.run_cells([CellText(2, "1 + 1")], {}) == []


def seeds(assignment: Assignment, submission: Submission) -> list[int]:
    return [case.seed for case in with_secret_seeds(find("row_sum"), assignment, submission).cases]


def test_a_class_meets_the_same_draws_and_nobody_knows_the_seeds():
    other = Submission("Bob", (), (), "2")
    assert seeds(ASSIGNMENT, SUBMISSION) == seeds(ASSIGNMENT, other)
    assert not set(seeds(ASSIGNMENT, SUBMISSION)) & {case.seed for case in find("row_sum").cases}
    secret = Assignment("week 1", ASSIGNMENT.exercises, "0", b"another", "key")
    assert seeds(secret, SUBMISSION) != seeds(ASSIGNMENT, SUBMISSION)


def test_a_formula_meets_integers_that_its_own_check_does_not_show():
    exercise = find("fixed_share")
    cases = with_secret_seeds(exercise, ASSIGNMENT, SUBMISSION).cases
    assert {case.name for case in cases} > {case.name for case in exercise.cases}


def test_without_a_secret_the_draws_follow_from_the_submission():
    open_to_all = Assignment("week 1", ASSIGNMENT.exercises, "0", b"", "key")
    other = Submission("Ada", (), (), "2")
    assert seeds(open_to_all, SUBMISSION) == seeds(open_to_all, SUBMISSION)
    assert seeds(open_to_all, SUBMISSION) != seeds(open_to_all, other)
