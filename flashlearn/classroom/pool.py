"""The local pool: workers in processes of their own, one job each, and nothing lost where one of them dies.

>>> with Pool(Grading(), workers=2) as pool:
...     for job, grade in pool.run(jobs):
...         book.keep(grade)
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from flashlearn.classroom.housing import STARTING, STILLBORN, House
from flashlearn.classroom.job import Grading, Job, failed, read_outcome
from flashlearn.classroom.records import SubmissionGrade
from flashlearn.classroom.worker import CANNOT, READY
from flashlearn.course.files import CourseError

TRIES = 6
"""So often is a job begun before it is marked as the grader's own failure."""

PATIENCE = 900.0
"""Seconds that one job may take by the clock: what it runs is limited far below that by the sandbox."""

BATCH = 200
"""Jobs that one worker takes before a fresh one replaces it."""


@dataclass
class Worker:
    """A process by its handle, and the job that it has at the moment."""

    handle: int
    channel: Connection
    job: Job | None = None
    until: float = 0.0
    taken: int = 0
    ready: bool = False


class Pool:
    """Workers that grade. Each job is answered once, by a grade or by a mark that the grader failed."""

    def __init__(self, grading: Grading, workers: int = 0, patience: float = PATIENCE, tries: int = TRIES):
        self.grading = grading
        self.size = workers or cores()
        self.house = House(grading)
        self.patience = patience
        self.most = tries
        self.workers: list[Worker] = []
        self.tries: dict[tuple[str, str], int] = {}
        self.ahead: deque[Job] = deque()
        self.again: deque[Job] = deque()
        self.restarted = self.stillborn = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_error: object) -> None:
        for worker in self.workers:
            _end(worker)
        self.workers.clear()
        self.house.close()

    def run(self, jobs: Iterable[Job]) -> Iterator[tuple[Job, SubmissionGrade]]:
        """Grade all jobs; each comes back with its grade. One for each worker is drawn ahead.

        So a worker has its next job at once, and while it grades that, whoever draws jobs and keeps grades
        does the rest.
        """
        waiting = iter(jobs)
        while True:
            self._hand_out(waiting)
            self._draw(waiting)
            busy = [worker for worker in self.workers if worker.job is not None]
            if not busy:
                return
            soonest = min(worker.until for worker in busy) - time.monotonic()
            ready = wait([worker.channel for worker in busy], max(soonest, 0.0))
            for worker in busy:
                if worker.channel in ready:
                    yield from self._answered(worker)
                elif time.monotonic() > worker.until:
                    yield from self._lost(worker, f"it took more than {self.patience:g} s")

    def _hand_out(self, waiting: Iterator[Job]) -> None:
        """Give every free worker a job. What failed once waits until all others have had their turn."""
        free = [worker for worker in self.workers if worker.job is None]
        while free or len(self.workers) < self.size:
            if not self.ahead and (job := next(waiting, None) or (self.again and self.again.popleft())):
                self.ahead.append(job)
            if not self.ahead:
                return
            self._give(free.pop() if free else self._start())

    def _draw(self, waiting: Iterator[Job]) -> None:
        while len(self.ahead) < self.size and (job := next(waiting, None)):
            self.ahead.append(job)

    def _give(self, worker: Worker) -> None:
        """The next job that was drawn."""
        worker.job = job = self.ahead.popleft()
        worker.until = time.monotonic() + (self.patience if worker.ready else STARTING)
        worker.taken += 1
        self.tries[job.key] = self.tries.get(job.key, 0) + 1
        with contextlib.suppress(OSError):  # a worker that is gone is noticed by its silence
            worker.channel.send_bytes(job.text().encode())

    def _answered(self, worker: Worker) -> Iterator[tuple[Job, SubmissionGrade]]:
        try:
            said = worker.channel.recv_bytes()
        except (EOFError, OSError):
            yield from self._lost(worker, "its worker died")
            return
        if said.startswith(CANNOT):
            raise CourseError(f"Grading cannot begin. {said.removeprefix(CANNOT).decode()}")
        if said == READY:
            worker.ready, worker.until = True, time.monotonic() + self.patience
            self.stillborn = 0
            return
        job, worker.job = worker.job, None
        outcome = read_outcome(job, said.decode())
        if worker.taken >= BATCH or isinstance(outcome, str):  # what failed may have left something behind
            self._remove(worker)
        elif self.ahead:
            self._give(worker)
        if isinstance(outcome, str):
            yield from self._retry(job, outcome)
        else:
            self.tries.pop(job.key, None)
            yield job, outcome

    def _lost(self, worker: Worker, why: str) -> Iterator[tuple[Job, SubmissionGrade]]:
        job = worker.job
        self._remove(worker)
        self.restarted += 1
        if not worker.ready or self.house.gone():  # the job is not to blame
            self.tries[job.key] -= 1
        if not worker.ready:
            self.stillborn += 1
            if self.stillborn >= STILLBORN:
                raise CourseError(f"Grading cannot begin: {STILLBORN} workers in a row died at their start.")
        yield from self._retry(job, why)

    def _retry(self, job: Job, why: str) -> Iterator[tuple[Job, SubmissionGrade]]:
        if self.tries[job.key] < self.most:
            self.again.append(job)
        else:
            self.tries.pop(job.key)
            yield job, failed(job, f"{why}, {self.most} times")

    def _start(self) -> Worker:
        channel, handle = self.house.worker()
        worker = Worker(handle, channel)
        self.workers.append(worker)
        return worker

    def _remove(self, worker: Worker) -> None:
        self.workers.remove(worker)
        _end(worker)


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end(worker: Worker) -> None:
    worker.channel.close()
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(worker.handle, signal.SIGKILL)
    wait([worker.handle])  # it can be read from when the process has ended
    os.close(worker.handle)
