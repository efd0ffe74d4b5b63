"""The same jobs on a Dask cluster: workers of other machines grade, and results come back to the one writer.

    >>> with Cluster("tcp://10.0.0.1:8786", Grading()) as cluster:
    ...     for job, grade in cluster.run(jobs):
    ...         book.keep(grade)

What is in flight is asked after again and again rather than waited for: a worker that dies, a scheduler that
is started again, or a job that never ends turn up as a question without an answer, and the job is sent again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flashlearn.classroom.job import Grade, Grading, Job, Note, failed, perform, read_outcome
from flashlearn.classroom.records import SubmissionGrade
from flashlearn.classroom.workers.pool import PATIENCE, TRIES
from flashlearn.course.files import CourseError

POLL = 0.05
"""Seconds between two looks at what is in flight."""

CONNECTING = "30s"
"""So long a scheduler is waited for."""

_graders: dict[str, Grade] = {}
_stacks = contextlib.ExitStack()
_one_at_a_time = threading.Lock()


def perform_there(text: str, grading: str) -> str:
    """Grade one job in a process of the cluster, which keeps its grader for the next one."""
    with _one_at_a_time:
        if grading not in _graders:
            _graders[grading] = _stacks.enter_context(Grading(**json.loads(grading)).begun())
        outcome = perform(text, _graders[grading])
        if "failed" in json.loads(outcome):  # what failed may have left something behind
            _graders.clear()
            _stacks.close()
        return outcome


@dataclass
class Flight:
    """A job that was sent, and until when it may take."""

    job: Job
    future: Any
    until: float


class Cluster:
    """A cluster that grades, in place of the local pool."""

    def __init__(self, address: str, grading: Grading, patience: float = PATIENCE, tries: int = TRIES):
        try:
            import distributed
        except ImportError:
            raise CourseError(
                "Grading on a cluster takes Dask: `pip install 'flashlearn[cluster]'`."
            ) from None
        self.connect = lambda: distributed.Client(address, timeout=CONNECTING, set_as_default=False)
        self.address, self.patience, self.most = address, patience, tries
        self.how = json.dumps(dataclasses.asdict(grading))
        self.tries: dict[tuple[str, str], int] = {}
        self.again: deque[Job] = deque()
        self.flying: list[Flight] = []
        self.client: Any = None
        self.resent = 0

    def __enter__(self) -> Cluster:
        self._connect()
        return self

    def __exit__(self, *_error: object) -> None:
        with contextlib.suppress(Exception):  # a scheduler that is gone has nothing to cancel
            self.client.cancel([flight.future for flight in self.flying], force=True)
        with contextlib.suppress(Exception):
            self.client.close(timeout=5)

    def run(
        self, jobs: Iterable[Job], _note: Note = lambda job, judged: None
    ) -> Iterator[tuple[Job, SubmissionGrade]]:
        """Grade all jobs; each comes back with its grade, once. Some for each worker are sent at a time.

        A worker elsewhere says nothing before it has the whole grade.
        """
        waiting = iter(jobs)
        while True:
            self._send(waiting)
            if not self.flying:
                return
            time.sleep(POLL)
            if self.client.status not in ("running", "connecting"):
                self._connect()
                for flight in self.flying:
                    self._resend(flight.job)
                self.flying.clear()
            for flight in list(self.flying):
                yield from self._looked_at(flight)

    def _send(self, waiting: Iterator[Job]) -> None:
        room = max(1, self._threads())
        while len(self.flying) < room:
            job = next(waiting, None) or (self.again.popleft() if self.again else None)
            if job is None:
                return
            number = self.tries[job.key] = self.tries.get(job.key, 0) + 1
            name = f"flashlearn-{'-'.join(job.key)}-{number}-{time.monotonic_ns()}"
            future = self.client.submit(perform_there, job.text(), self.how, key=name, pure=False, retries=0)
            self.flying.append(Flight(job, future, time.monotonic() + self.patience))

    def _looked_at(self, flight: Flight) -> Iterator[tuple[Job, SubmissionGrade]]:
        status = flight.future.status
        if status == "pending" and not self._is_late(flight):
            return
        self.flying.remove(flight)
        if status == "finished":
            try:
                outcome = read_outcome(flight.job, flight.future.result(timeout=60))
            except Exception as error:  # the worker died between its answer and our asking
                outcome = f"{type(error).__name__}: {error}"
            if isinstance(outcome, str):
                yield from self._retry(flight.job, outcome)
            else:
                self.tries.pop(flight.job.key, None)
                yield flight.job, outcome
        elif status == "pending":
            yield from self._retry(flight.job, f"it took more than {self.patience:g} s")
        elif status == "error":
            error = flight.future.exception(timeout=60)
            yield from self._retry(flight.job, f"{type(error).__name__}: {str(error)[:200]}")
        else:  # lost, or cancelled by a scheduler that was started again: no fault of the job's
            self._resend(flight.job)

    def _retry(self, job: Job, why: str) -> Iterator[tuple[Job, SubmissionGrade]]:
        if self.tries[job.key] < self.most:
            self.again.append(job)
        else:
            self.tries.pop(job.key)
            yield job, failed(job, f"{why}, {self.most} times")

    def _resend(self, job: Job) -> None:
        self.tries[job.key] -= 1
        self.resent += 1
        self.again.append(job)

    def _is_late(self, flight: Flight) -> bool:
        """Whether a worker does not leave a job: then it is started again. A job without a worker waits."""
        if time.monotonic() < flight.until:
            return False
        flight.until += self.patience
        with contextlib.suppress(Exception):  # whether it can be is the cluster's affair
            holding = [w for w, keys in self.client.processing().items() if flight.future.key in keys]
            if holding:
                flight.future.cancel(force=True)
                self.client.restart_workers(holding, timeout=30)
                return True
        return False

    def _threads(self) -> int:
        with contextlib.suppress(Exception):
            return sum(self.client.nthreads().values())
        return len(self.flying)

    def _connect(self) -> None:
        if self.client is not None:
            with contextlib.suppress(Exception):
                self.client.close(timeout=5)
        try:
            self.client = self.connect()
        except (OSError, TimeoutError, ValueError) as error:
            raise CourseError(f"There is no scheduler at {self.address}: {error}.") from error
