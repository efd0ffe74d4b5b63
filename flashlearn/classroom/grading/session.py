"""`grade`: one submission to one grade, its code behind walls, its numbers judged where it cannot reach.

    >>> found = grade(submission, assignment)
    >>> found.points, found.exercises[0].sentence

Two processes stand by, made with the first submission and kept for the next: one forks confined children,
which know no answer, the other forks judges, which know them all. This one only passes messages on, so that
nothing that a submission sends can harm it.

Many workers of one machine share what both have in memory: with `Rooms` each gets its room by forking.
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
from flashlearn.classroom.grading.judge_client import Judges
from flashlearn.classroom.grading.judge_server import Job, warm
from flashlearn.classroom.job import Tell
from flashlearn.classroom.records import (
    Asked,
    Assignment,
    ExerciseGrade,
    Judged,
    Submission,
    SubmissionGrade,
)
from flashlearn.classroom.sandbox import cgroups
from flashlearn.classroom.sandbox.client import Keeper, Maker, NotConfined
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.lessons import find
from flashlearn.processes.encoding import Malformed
from flashlearn.running.remote_answer import STARTING, Channel, ChildError

LATEST = 3600.0
"""Seconds by the clock after which a judge that says nothing is given up."""
STOPPED = "Judging this exercise took more time or memory than there is, so it was stopped."
NO_WALLS = "Kernels are timed on a GPU only without walls: its driver cannot be had behind them."
FAILED = "The grader itself failed here. That is no fault of this submission: it is to be graded again."


class Room:
    """The two processes. To be closed, or used as a context manager; raises NotConfined without walls.

    Both are made here, or come as `keeper` and `judges`.
    """

    def __init__(
        self,
        unsafe: bool = False,
        limits: Limits | None = None,
        keeper: Maker | None = None,
        judges: Judges | None = None,
        gpus: int = 0,
    ):
        if gpus and not unsafe:
            raise NotConfined(NO_WALLS)
        self.gpus = gpus
        if not unsafe:
            cgroups.here()
        self.keeper = keeper or (own := Keeper(limits=limits, unsafe=unsafe, wait=False))
        self.owner = os.getpid()
        self.groups: list[cgroups.Group] = []
        try:
            self.judges = judges or Judges.started()
            if keeper is None:
                own.wait()
        except BaseException:
            self.keeper.close()
            raise

    @staticmethod
    def shared(unsafe: bool = False, gpus: int = 0) -> Rooms:
        """What rooms are made of by forking, for the workers of one machine."""
        return Rooms(unsafe, gpus)

    def grade(
        self,
        submission: Submission,
        assignment: Assignment,
        judged: Iterable[Judged] = (),
        tell: Tell = lambda judged: None,
    ) -> SubmissionGrade:
        """The grade of one submission.

        What was `judged` of it behind the same walls is not judged again; `tell` hears at once of all else.
        """
        started = time.monotonic()
        out_of = sum(one.points for one in assignment.exercises)
        head = (submission.student, submission.key, assignment.key)
        if submission.broken:
            each = tuple(_not_graded(one, submission.broken) for one in assignment.exercises)
            notes = tuple(dict.fromkeys((*submission.notes, submission.broken)))
            return SubmissionGrade(*head, "broken", 0, out_of, each, notes, self.keeper.walls.names)
        walls = self.keeper.walls.names
        before = [one for one in judged if one.layers == walls]
        grades = {one.grade.name: one.grade for one in before}
        notes: list[str] = [*submission.notes, *(note for one in before for note in one.notes)]

        def found(grade: ExerciseGrade, noted: Sequence[str] = ()) -> None:
            if _closed(self.keeper.control) or _closed(self.judges.control):
                raise ChildError("what this room needs is gone, so this says nothing about the submission")
            grades[grade.name] = grade
            notes.extend(noted)
            tell(Judged(grade, tuple(noted), walls))

        while left := tuple(one for one in assignment.exercises if one.name not in grades):
            at, ended = self._round(Job(submission, assignment, left, self.keeper.limits), found)
            if at and not ended and at not in grades:  # the judge ended with this one
                asked = next(one for one in left if one.name == at)
                stopped = _not_graded(asked, STOPPED)
                with contextlib.suppress(ChildError):
                    found(dataclasses.replace(stopped, verdict="stopped", mistake="stopped"))
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
            tuple(dict.fromkeys(notes)), self.keeper.walls.names, seconds, figures,
        )  # fmt: skip

    def _round(self, job: Job, found: Callable[..., None]) -> tuple[str, str]:
        """Let one judge judge as far as it comes: the exercise that it was at, and how that ended.

        `found` hears of each grade, and of what was noted until then.
        """
        ours, theirs = socket.socketpair()
        channel, at = Channel(ours), ""
        with ours, self._grouped():
            try:
                with theirs:
                    socket.send_fds(self.judges.control, [b"j"], [theirs.fileno()])
                channel.send(job)
                while True:
                    what, value = channel.receive(time.monotonic() + LATEST)
                    if what == "begin":
                        at = value
                    elif what == "grade":
                        found(*value)
                    elif what == "done":
                        return at, "done"
                    elif what == "child":
                        self._send_child(ours)
            except (EOFError, OSError, TimeoutError, Malformed):
                return at, ""
            except ChildError:
                return at, "failed"

    def _send_child(self, judge: socket.socket) -> None:
        connection, handle = self.keeper.child()
        if self.keeper.walls.names:  # it has not heard of the submission yet
            group = cgroups.here().group(cgroups.number_of(handle), self.keeper.limits)
            self.groups += [group] if group is not None else []
        judge.settimeout(STARTING)
        with connection:
            socket.send_fds(judge, [b"c"], [connection.fileno(), handle])
        os.close(handle)

    @contextlib.contextmanager
    def _grouped(self) -> Iterator[None]:
        """End the groups of all children that a judge was sent, whatever became of the judge."""
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
        self.keeper.close()

    def __enter__(self) -> Room:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Rooms:
    """What the rooms of one machine have in common: the lessons in this process, and one keeper.

        >>> rooms = Rooms()
        >>> part = rooms.part()                      # before a fork
        >>> with rooms.begun(part) as room:          # in it
        ...     room.grade(submission, assignment)

    Nothing of a submission ever comes here, so that no room has anything of another one's.
    """

    def __init__(self, unsafe: bool = False, gpus: int = 0):
        self.unsafe, self.gpus = unsafe, gpus
        if not unsafe:
            cgroups.here()  # before any process is made that would have to move with this one
        self.keeper = Keeper(unsafe=unsafe, wait=False)
        try:
            warm()  # while the keeper is getting ready, too
            self.keeper.wait()
        except BaseException:
            self.keeper.close()
            raise

    def part(self) -> Maker | None:
        """What the next room takes of the keeper; None where it has to have a keeper of its own.

        A keeper that was killed is replaced. Raises ChildError where that fails.
        """
        try:
            return self.keeper.room()
        except ChildError:
            self.keeper.close()
            self.keeper = Keeper(unsafe=self.unsafe)
            return self.keeper.room()

    def begun(self, part: Maker | None) -> Room:
        """A room, in a process that was forked from this one."""
        self.keeper.control.close()  # it asks for children of its own, and for no rooms
        return Room(self.unsafe, keeper=part, judges=Judges.forked(), gpus=self.gpus)

    def close(self) -> None:
        """End the keeper."""
        self.keeper.close()


_rooms: dict[tuple[int, bool], Room] = {}


def grade(submission: Submission, assignment: Assignment, unsafe: bool = False) -> SubmissionGrade:
    """One submission to one grade. Raises NotConfined where there are too few walls, without `unsafe`.

    The first call of a process takes some seconds more: what runs and what judges is made then, and kept.
    """
    key = (os.getpid(), unsafe)
    if key not in _rooms:
        _rooms.clear()  # those of a process that this one was forked from are its own
        _rooms[key] = Room(unsafe)
    found = _rooms[key].grade(submission, assignment)
    if found.status == "infrastructure":
        _rooms.pop(key).close()
    return found


@atexit.register
def _close() -> None:
    for room in _rooms.values():
        room.close()


def _timed(
    submission: Submission, each: Sequence[ExerciseGrade], gpus: int
) -> tuple[tuple[ExerciseGrade, ...], dict[str, float]]:
    """The grades with a remark where a time is in doubt, and the times: they change no points."""
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
    """Whether the process at the other end is gone. What it had forked ends after it, so never unnoticed."""
    patience = connection.gettimeout()
    connection.settimeout(0.0)
    try:
        return not connection.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(patience)


def _not_graded(asked: Asked, sentence: str) -> ExerciseGrade:
    return ExerciseGrade(asked.name, "not graded", 0.0, asked.points, sentence=sentence)
