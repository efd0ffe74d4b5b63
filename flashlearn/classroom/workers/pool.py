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
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from flashlearn.classroom.gradebook import judged_from
from flashlearn.classroom.job import Grading, Job, Note, failed, read_outcome
from flashlearn.classroom.records import Judged, SubmissionGrade
from flashlearn.classroom.workers.client import STARTING, STILLBORN, House
from flashlearn.classroom.workers.worker import CANNOT, JUDGED, READY
from flashlearn.course.files import CourseError

TRIES = 6
"""So often may the grader fail at a job, without one more exercise judged, before the job is marked as its
failure."""

DEATHS = 48
"""So often may a job's worker die likewise: that says less, since anybody may have ended it."""

PATIENCE = 900.0
"""Seconds that one job may take by the clock: what it runs is limited far below that by the sandbox."""

BATCH = 200
"""Jobs that one worker takes before a fresh one replaces it."""


@dataclass
class Worker:
    """A process by its handle, and the job that it has at the moment, and whether it came further with it."""

    handle: int
    channel: Connection
    job: Job | None = None
    until: float = 0.0
    taken: int = 0
    further: bool = False
    ready: bool = False


class Pool:
    """Workers that grade. Each job is answered once, by a grade or by a mark that the grader failed."""

    def __init__(
        self,
        grading: Grading,
        workers: int = 0,
        patience: float = PATIENCE,
        tries: int = TRIES,
        deaths: int = DEATHS,
    ):
        self.grading = grading
        self.size = workers or cores()
        self.house = House(grading)
        self.patience = patience
        self.most, self.most_deaths = tries, deaths
        self.workers: list[Worker] = []
        self.tries: Counter[tuple[str, str]] = Counter()
        self.deaths: Counter[tuple[str, str]] = Counter()
        self.ahead: deque[Job] = deque()
        self.again: deque[Job] = deque()
        self.restarted = self.stillborn = 0
        self.note: Note = lambda job, judged: None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_error: object) -> None:
        for worker in self.workers:
            _end(worker)
        self.workers.clear()
        self.house.close()

    def run(
        self, jobs: Iterable[Job], note: Note = lambda job, judged: None
    ) -> Iterator[tuple[Job, SubmissionGrade]]:
        """Grade all jobs; each comes back with its grade. One for each worker is drawn ahead.

        So a worker has its next job at once, and while it grades that, whoever draws jobs and keeps grades
        does the rest. `note` hears of each exercise that is judged; where a worker dies, the next one begins
        after what was.
        """
        self.note = note
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
                if worker not in self.workers:  # another one was done with its job
                    continue
                if worker.channel in ready:
                    yield from self._answered(worker)
                elif time.monotonic() > worker.until:
                    yield from self._late(worker)

    def _hand_out(self, waiting: Iterator[Job]) -> None:
        """Give every free worker a job. What failed once waits until all others have had their turn.

        Where there is no other job left, one whose worker has died goes to a second worker beside the first
        (a backup task: Dean and Ghemawat, MapReduce, 2004, section 3.6).
        """
        free = [worker for worker in self.workers if worker.job is None]
        while free or len(self.workers) < self.size:
            if not self.ahead and (job := next(waiting, None) or (self.again and self.again.popleft())):
                self.ahead.append(job)
            if not self.ahead and (job := self._in_danger()):
                self.ahead.append(job)
            if not self.ahead:
                return
            self._give(free.pop() if free else self._start())

    def _in_danger(self) -> Job | None:
        """A job that has lost a worker, and has one now."""
        jobs = [worker.job for worker in self.workers if worker.job is not None]
        held = Counter(job.key for job in jobs)
        return next((job for job in jobs if self.deaths[job.key] and held[job.key] == 1), None)

    def _draw(self, waiting: Iterator[Job]) -> None:
        while len(self.ahead) < self.size and (job := next(waiting, None)):
            self.ahead.append(job)

    def _give(self, worker: Worker) -> None:
        """The next job that was drawn."""
        worker.job = job = self.ahead.popleft()
        worker.until = time.monotonic() + (self.patience if worker.ready else STARTING)
        worker.taken += 1
        worker.further = False
        with contextlib.suppress(OSError):  # a worker that is gone is noticed by its silence
            worker.channel.send_bytes(job.text().encode())

    def _answered(self, worker: Worker) -> Iterator[tuple[Job, SubmissionGrade]]:
        try:
            said = worker.channel.recv_bytes()
        except (EOFError, OSError):
            yield from self._lost(worker)
            return
        if said.startswith(CANNOT):
            raise CourseError(f"Grading cannot begin. {said.removeprefix(CANNOT).decode()}")
        if said == READY:
            worker.ready, worker.until = True, time.monotonic() + self.patience
            self.stillborn = 0
            return
        if said.startswith(JUDGED):
            self._judged(worker, judged_from(said.removeprefix(JUDGED).decode()))
            return
        job, worker.job = worker.job, None
        outcome = read_outcome(job, said.decode())
        if worker.taken >= BATCH or isinstance(outcome, str):  # what failed may have left something behind
            self._remove(worker)
        elif self.ahead:
            self._give(worker)
        if isinstance(outcome, str):
            yield from self._failed(worker, job, outcome)
        else:
            self._settled(job)
            yield job, outcome

    def _judged(self, worker: Worker, judged: Judged) -> None:
        """Remember an exercise. One that was not known before is a step: failures are counted anew."""
        assert worker.job is not None
        if judged.grade.name not in {one.grade.name for one in worker.job.judged}:
            worker.further = True
            self._forget(worker.job)
        worker.job = worker.job.after(judged)
        self.note(worker.job, judged)

    def _late(self, worker: Worker) -> Iterator[tuple[Job, SubmissionGrade]]:
        if not worker.ready:
            yield from self._lost(worker)
            return
        job = worker.job
        self._remove(worker)
        self.restarted += 1
        yield from self._failed(worker, job, f"it took more than {self.patience:g} s")

    def _lost(self, worker: Worker) -> Iterator[tuple[Job, SubmissionGrade]]:
        """A worker died. Where that was at its start, or with all others, its job is not to blame."""
        job = worker.job
        self._remove(worker)
        self.restarted += 1
        if not worker.ready:
            self.stillborn += 1
            if self.stillborn >= STILLBORN:
                raise CourseError(f"Grading cannot begin: {STILLBORN} workers in a row died at their start.")
        elif not worker.further and not self.house.gone():
            self.deaths[job.key] += 1
        if self.deaths[job.key] < self.most_deaths:
            self._begin_again(job)
        else:
            yield job, self._marked(job, f"its worker died, {self.most_deaths} times")

    def _failed(self, worker: Worker, job: Job, why: str) -> Iterator[tuple[Job, SubmissionGrade]]:
        self.tries[job.key] += not worker.further
        if self.tries[job.key] < self.most:
            self._begin_again(job)
        else:
            yield job, self._marked(job, f"{why}, {self.most} times")

    def _marked(self, job: Job, why: str) -> SubmissionGrade:
        self._settled(job)
        return failed(job, why)

    def _begin_again(self, job: Job) -> None:
        """Unless another worker has it already."""
        if not any(worker.job is not None and worker.job.key == job.key for worker in self.workers):
            self.again.append(job)

    def _settled(self, job: Job) -> None:
        """Nobody need go on with a job."""
        self._forget(job)
        for worker in list(self.workers):
            if worker.job is not None and worker.job.key == job.key:
                self._remove(worker)

    def _forget(self, job: Job) -> None:
        self.tries.pop(job.key, None)
        self.deaths.pop(job.key, None)

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
