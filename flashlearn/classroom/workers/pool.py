"""The local pool: worker processes with one job each. A worker that dies costs no grade.

>>> with Pool(Grading(), workers=2) as pool:
...     for job, grade in pool.run(jobs):
...         book.keep(grade)
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from flashlearn.classroom.gradebook import judged_from
from flashlearn.classroom.job import Grading, Job, OnProgress, failed, read_outcome
from flashlearn.classroom.records import JudgedExercise, SubmissionGrade
from flashlearn.classroom.workers.client import MAX_FAILED_STARTS, STARTING, WorkerServer
from flashlearn.classroom.workers.worker import CANNOT, JUDGED, READY
from flashlearn.course.files import CourseError
from flashlearn.processes import pidfd

TRIES = 6
"""How often the grader may fail at a job without progress, one more exercise, before the job is marked."""

DEATHS = 48
"""How often a job's worker may die likewise: it is less often the job's fault, as others may kill it."""

PATIENCE = 900.0
"""Seconds that one job may take by the clock. The sandbox's own limits are far lower."""

BATCH = 200
"""Jobs that one worker does before a fresh one replaces it."""


@dataclass
class Worker:
    """A process by its pidfd, its current job, and whether it has judged a new exercise of it."""

    pidfd: int
    channel: Connection
    job: Job | None = None
    until: float = 0.0
    jobs: int = 0
    progressed: bool = False
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
        self.server = WorkerServer(grading)
        self.patience = patience
        self.most, self.most_deaths = tries, deaths
        self.workers: list[Worker] = []
        self.tries: Counter[tuple[str, str]] = Counter()
        self.deaths: Counter[tuple[str, str]] = Counter()
        self.ahead: deque[Job] = deque()
        self.again: deque[Job] = deque()
        self.restarted = self.failed_starts = 0
        self.on_progress: OnProgress = lambda job, judged: None

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_error: object) -> None:
        for worker in self.workers:
            _end(worker)
        self.workers.clear()
        self.server.close()

    def run(
        self, jobs: Iterable[Job], on_progress: OnProgress = lambda job, judged: None
    ) -> Iterator[tuple[Job, SubmissionGrade]]:
        """Grade all jobs; each is yielded with its grade. One job for each worker is fetched ahead.

        So a worker gets its next job at once, while the caller produces jobs and stores grades. `on_progress`
        is called with each exercise that is judged; if a worker dies, the next one continues after these.
        """
        self.on_progress = on_progress
        waiting = iter(jobs)
        while True:
            self._hand_out(waiting)
            self._fetch_ahead(waiting)
            busy = [worker for worker in self.workers if worker.job is not None]
            if not busy:
                return
            soonest = min(worker.until for worker in busy) - time.monotonic()
            ready = wait([worker.channel for worker in busy], max(soonest, 0.0))
            for worker in busy:
                if worker not in self.workers:  # another worker has finished its job
                    continue
                if worker.channel in ready:
                    yield from self._receive(worker)
                elif time.monotonic() > worker.until:
                    yield from self._time_out(worker)

    def _hand_out(self, waiting: Iterator[Job]) -> None:
        """Give every free worker a job. A job that failed once waits until all others have been graded.

        If no other job is left, one whose worker has died also goes to a second worker (a backup task: Dean
        and Ghemawat, MapReduce, 2004, section 3.6).
        """
        free = [worker for worker in self.workers if worker.job is None]
        while free or len(self.workers) < self.size:
            if not self.ahead and (job := next(waiting, None) or (self.again and self.again.popleft())):
                self.ahead.append(job)
            if not self.ahead and (job := self._backup_task()):
                self.ahead.append(job)
            if not self.ahead:
                return
            self._give(free.pop() if free else self._start())

    def _backup_task(self) -> Job | None:
        """A job that has lost a worker, and has one worker now."""
        jobs = [worker.job for worker in self.workers if worker.job is not None]
        held = Counter(job.key for job in jobs)
        return next((job for job in jobs if self.deaths[job.key] and held[job.key] == 1), None)

    def _fetch_ahead(self, waiting: Iterator[Job]) -> None:
        while len(self.ahead) < self.size and (job := next(waiting, None)):
            self.ahead.append(job)

    def _give(self, worker: Worker) -> None:
        """Send the worker the next job that was fetched."""
        worker.job = job = self.ahead.popleft()
        worker.until = time.monotonic() + (self.patience if worker.ready else STARTING)
        worker.jobs += 1
        worker.progressed = False
        with contextlib.suppress(OSError):  # a dead worker is noticed when its answer is read
            worker.channel.send_bytes(job.text().encode())

    def _receive(self, worker: Worker) -> Iterator[tuple[Job, SubmissionGrade]]:
        try:
            message = worker.channel.recv_bytes()
        except (EOFError, OSError):
            yield from self._count_death(worker)
            return
        if message.startswith(CANNOT):
            raise CourseError(f"Grading cannot start. {message.removeprefix(CANNOT).decode()}")
        if message == READY:
            worker.ready, worker.until = True, time.monotonic() + self.patience
            self.failed_starts = 0
            return
        if message.startswith(JUDGED):
            self._add_judged(worker, judged_from(message.removeprefix(JUDGED).decode()))
            return
        job, worker.job = worker.job, None
        outcome = read_outcome(job, message.decode())
        if worker.jobs >= BATCH or isinstance(outcome, str):  # a failure may leave a worker in a bad state
            self._remove(worker)
        elif self.ahead:
            self._give(worker)
        if isinstance(outcome, str):
            yield from self._count_failure(worker, job, outcome)
        else:
            self._drop(job)
            yield job, outcome

    def _add_judged(self, worker: Worker, judged: JudgedExercise) -> None:
        """Remember an exercise. One that was not known before is progress: failures are counted anew."""
        assert worker.job is not None
        if judged.grade.name not in {one.grade.name for one in worker.job.judged}:
            worker.progressed = True
            self._forget(worker.job)
        worker.job = worker.job.after(judged)
        self.on_progress(worker.job, judged)

    def _time_out(self, worker: Worker) -> Iterator[tuple[Job, SubmissionGrade]]:
        if not worker.ready:
            yield from self._count_death(worker)
            return
        job = worker.job
        self._remove(worker)
        self.restarted += 1
        yield from self._count_failure(worker, job, f"it took more than {self.patience:g} s")

    def _count_death(self, worker: Worker) -> Iterator[tuple[Job, SubmissionGrade]]:
        """A worker died. If it died at its start, or with all others, its job is not to blame."""
        job = worker.job
        self._remove(worker)
        self.restarted += 1
        if not worker.ready:
            self.failed_starts += 1
            if self.failed_starts >= MAX_FAILED_STARTS:
                raise CourseError(
                    f"Grading cannot start: {MAX_FAILED_STARTS} workers in a row died at their start."
                )
        elif not worker.progressed and not self.server.gone():
            self.deaths[job.key] += 1
        if self.deaths[job.key] < self.most_deaths:
            self._retry(job)
        else:
            yield job, self._mark(job, f"its worker died, {self.most_deaths} times")

    def _count_failure(self, worker: Worker, job: Job, why: str) -> Iterator[tuple[Job, SubmissionGrade]]:
        self.tries[job.key] += not worker.progressed
        if self.tries[job.key] < self.most:
            self._retry(job)
        else:
            yield job, self._mark(job, f"{why}, {self.most} times")

    def _mark(self, job: Job, why: str) -> SubmissionGrade:
        self._drop(job)
        return failed(job, why)

    def _retry(self, job: Job) -> None:
        """Queue a job again, unless another worker has it already."""
        if not any(worker.job is not None and worker.job.key == job.key for worker in self.workers):
            self.again.append(job)

    def _drop(self, job: Job) -> None:
        """Remove the workers that still have a job which is answered."""
        self._forget(job)
        for worker in list(self.workers):
            if worker.job is not None and worker.job.key == job.key:
                self._remove(worker)

    def _forget(self, job: Job) -> None:
        self.tries.pop(job.key, None)
        self.deaths.pop(job.key, None)

    def _start(self) -> Worker:
        channel, process = self.server.worker()
        worker = Worker(process, channel)
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
    pidfd.kill(worker.pidfd)
    wait([worker.pidfd])  # readable once the process has ended
    os.close(worker.pidfd)
