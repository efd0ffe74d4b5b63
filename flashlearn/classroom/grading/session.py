"""`grade`: one submission to one grade. Its code runs in the sandbox; its numbers are judged outside.

    >>> found = grade(submission, assignment)
    >>> found.points, found.exercises[0].sentence

Two processes are started with the first submission and kept for the next: one forks sandboxed children, which
know no answer, the other forks judges, which know them all. This process only passes messages between them,
so nothing that a submission sends can harm it.

The workers of one machine share what both have in memory: each gets its session from a `SessionPool` by
forking.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import math
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from flashlearn.classroom.grading.gpu_timing import timed
from flashlearn.classroom.grading.judge import JudgeRequest
from flashlearn.classroom.grading.judge_client import JudgeServer
from flashlearn.classroom.grading.judge_server import warm
from flashlearn.classroom.job import OnJudged
from flashlearn.classroom.records import (
    AssignedExercise,
    Assignment,
    ExerciseGrade,
    JudgedExercise,
    Submission,
    SubmissionGrade,
)
from flashlearn.classroom.sandbox import cgroups
from flashlearn.classroom.sandbox.client import NotConfined, SandboxFactory, SandboxServer
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.lessons import find
from flashlearn.processes import fork_server
from flashlearn.processes.channel import Channel
from flashlearn.processes.encoding import Malformed
from flashlearn.processes.pidfd import process_id
from flashlearn.processes.start import STARTING, ChildError

LATEST = 3600.0
"""Seconds by the clock after which a silent judge is given up."""
STOPPED = "Judging this exercise took more time or memory than is available, so it was stopped."
NO_SANDBOX = (
    "Kernels are timed on a GPU only with --unsafe: a GPU's driver cannot be used inside the sandbox."
)
FAILED = "The grader itself failed here. That is not the fault of this submission: it must be graded again."


class GradingSession:
    """The two processes. To be closed, or used as a context manager; raises NotConfined without a sandbox.

    Both are started here, or given as `sandbox` and `judges`.
    """

    def __init__(
        self,
        unsafe: bool = False,
        limits: Limits | None = None,
        sandbox: SandboxFactory | None = None,
        judges: JudgeServer | None = None,
        gpus: int = 0,
    ):
        if gpus and not unsafe:
            raise NotConfined(NO_SANDBOX)
        self.gpus = gpus
        if not unsafe:
            cgroups.here()
        self.sandbox = sandbox or (own := SandboxServer(limits=limits, unsafe=unsafe, wait=False))
        self.owner = os.getpid()
        self.groups: list[cgroups.Group] = []
        try:
            self.judges = judges or JudgeServer.start()
            if sandbox is None:
                own.wait()
        except BaseException:
            self.sandbox.close()
            raise

    @staticmethod
    def shared(unsafe: bool = False, gpus: int = 0) -> SessionPool:
        """What the sessions of one machine's workers are forked from."""
        return SessionPool(unsafe, gpus)

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        judged: Iterable[JudgedExercise] = (),
        on_judged: OnJudged = lambda judged: None,
    ) -> SubmissionGrade:
        """The grade of one submission.

        Exercises `judged` earlier inside the same layers are not judged again; `on_judged` is called at once
        with each of the others.
        """
        started = time.monotonic()
        out_of = sum(one.points for one in assignment.exercises)
        head = (submission.student, submission.key, assignment.key)
        layers = self.sandbox.layers.names
        if submission.broken:
            each = tuple(_not_graded(one, submission.broken) for one in assignment.exercises)
            notes = tuple(dict.fromkeys((*submission.notes, submission.broken)))
            return SubmissionGrade(*head, "broken", 0, out_of, each, notes, layers)
        before = [one for one in judged if one.layers == layers]
        grades = {one.grade.name: one.grade for one in before}
        notes: list[str] = [*submission.notes, *(note for one in before for note in one.notes)]

        def add(grade: ExerciseGrade, new_notes: Sequence[str] = ()) -> None:
            if _closed(self.sandbox.control) or _closed(self.judges.control):
                raise ChildError("a process of this session is gone, so this is no result of the submission")
            grades[grade.name] = grade
            notes.extend(new_notes)
            on_judged(JudgedExercise(grade, tuple(new_notes), layers))

        while left := tuple(one for one in assignment.exercises if one.name not in grades):
            request = JudgeRequest(submission, assignment, left, self.sandbox.limits)
            at, ended = self._run_judge(request, add)
            if at and not ended and at not in grades:  # the judge died at this one
                asked = next(one for one in left if one.name == at)
                stopped = _not_graded(asked, STOPPED)
                with contextlib.suppress(ChildError):
                    add(dataclasses.replace(stopped, verdict="stopped", mistake="stopped"))
            if ended == "failed" or at not in grades:
                grades |= {one.name: _not_graded(one, FAILED) for one in left if one.name not in grades}
                status = "infrastructure"
                break
        else:
            status = "graded"
        each = tuple(grades[one.name] for one in assignment.exercises)
        times: dict[str, float] = {}
        if self.gpus and status == "graded":
            each, times = _timed(submission, each, self.gpus)
        seconds = time.monotonic() - started
        figures = {"checks": sum(one.seconds for one in each), "seconds": seconds, **times}
        return SubmissionGrade(
            *head, status, math.floor(sum(one.points for one in each) + 0.5), out_of, each,
            tuple(dict.fromkeys(notes)), layers, seconds, figures,
        )  # fmt: skip

    def _run_judge(self, request: JudgeRequest, add: Callable[..., None]) -> tuple[str, str]:
        """Have one judge judge until it is done or dies: its last exercise, and "done", "failed" or "".

        `add` is called with each grade, and the notes since the last one.
        """
        at = ""
        try:
            connection = fork_server.connect(self.judges.control)
        except OSError:
            return at, ""
        channel = Channel(connection)
        with connection, self._grouped():
            try:
                channel.send(request)
                while True:
                    what, value = channel.receive(time.monotonic() + LATEST)
                    if what == "begin":
                        at = value
                    elif what == "grade":
                        add(*value)
                    elif what == "done":
                        return at, "done"
                    elif what == "child":
                        self._send_child(connection)
            except (EOFError, OSError, TimeoutError, Malformed):
                return at, ""
            except ChildError:
                return at, "failed"

    def _send_child(self, judge: socket.socket) -> None:
        connection, pidfd = self.sandbox.child()
        if self.sandbox.layers.names:  # before the child receives anything of the submission
            group = cgroups.here().group(process_id(pidfd), self.sandbox.limits)
            self.groups += [group] if group is not None else []
        judge.settimeout(STARTING)
        with connection:
            socket.send_fds(judge, [b"c"], [connection.fileno(), pidfd])
        os.close(pidfd)

    @contextlib.contextmanager
    def _grouped(self) -> Iterator[None]:
        """End the control groups of all children that a judge was sent, also if the judge died."""
        try:
            yield
        finally:
            for group in self.groups:
                group.close()
            self.groups.clear()

    def close(self) -> None:
        """End both processes, if this is the process that made them."""
        if self.owner != os.getpid():
            return
        self.judges.close()
        self.sandbox.close()

    def __enter__(self) -> GradingSession:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class SessionPool:
    """What the sessions of one machine share: the lessons in this process, and one sandbox server.

        >>> pool = SessionPool()
        >>> share = pool.share()                     # before a fork
        >>> with pool.grader(share) as session:      # in it
        ...     session.grade(submission, assignment)

    Nothing of a submission ever reaches this process, so no session learns anything of another one's.
    """

    def __init__(self, unsafe: bool = False, gpus: int = 0):
        self.unsafe, self.gpus = unsafe, gpus
        if not unsafe:
            cgroups.here()  # before any process is made that would have to move with this one
        self.sandbox = SandboxServer(unsafe=unsafe, wait=False)
        try:
            warm()  # while the sandbox server starts
            self.sandbox.wait()
        except BaseException:
            self.sandbox.close()
            raise

    def share(self) -> SandboxFactory | None:
        """A sandbox factory for the next session; None if it has to start a sandbox server of its own.

        A sandbox server that was killed is replaced. Raises ChildError if that fails.
        """
        try:
            return self.sandbox.factory()
        except ChildError:
            self.sandbox.close()
            self.sandbox = SandboxServer(unsafe=self.unsafe)
            return self.sandbox.factory()

    def grader(self, share: SandboxFactory | None) -> GradingSession:
        """A session, in a process that was forked from this one."""
        self.sandbox.control.close()  # it requests children of its own factory only
        return GradingSession(self.unsafe, sandbox=share, judges=JudgeServer.fork(), gpus=self.gpus)

    def close(self) -> None:
        """End the sandbox server."""
        self.sandbox.close()


_sessions: dict[tuple[int, bool], GradingSession] = {}


def grade(submission: Submission, assignment: Assignment, unsafe: bool = False) -> SubmissionGrade:
    """One submission to one grade. Raises NotConfined if there are too few sandbox layers, without `unsafe`.

    The first call in a process takes some seconds more: it starts the session, which is kept.
    """
    key = (os.getpid(), unsafe)
    if key not in _sessions:
        _sessions.clear()  # sessions of the process that this one was forked from are not ours
        _sessions[key] = GradingSession(unsafe)
    found = _sessions[key].grade(submission, assignment)
    if found.status == "infrastructure":
        _sessions.pop(key).close()
    return found


@atexit.register
def _close() -> None:
    for session in _sessions.values():
        session.close()


def _timed(
    submission: Submission, each: Sequence[ExerciseGrade], gpus: int
) -> tuple[tuple[ExerciseGrade, ...], dict[str, float]]:
    """The grades, with a remark if a time is in doubt, and the times: they change no points."""
    found: dict[str, float] = {}
    remarked = []
    for grade in each:
        if grade.verdict == "pass" and find(grade.name).timed.case is not None:
            one = timed(submission, grade.name, range(gpus))
            found |= one.figures(grade.name)
            if one.doubt:
                grade = dataclasses.replace(grade, for_teacher=f"Its time is in doubt: {one.doubt}.")
        remarked.append(grade)
    return tuple(remarked), found


def _closed(connection: socket.socket) -> bool:
    """Whether the process at the other end is gone. Its forks end after it, so this is noticed first."""
    timeout = connection.gettimeout()
    connection.settimeout(0.0)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(timeout)


def _not_graded(asked: AssignedExercise, sentence: str) -> ExerciseGrade:
    return ExerciseGrade(asked.name, "not graded", 0.0, asked.points, sentence=sentence)
