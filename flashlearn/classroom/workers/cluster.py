"""The same jobs on a Dask cluster: workers on other machines grade, and one process writes the grades.

    >>> with Cluster("tcp://10.0.0.1:8786", Grading()) as cluster:
    ...     for job, grade in cluster.run(jobs):
    ...         book.keep(grade)

Jobs in one are polled rather than waited for: a worker that dies, a scheduler that is restarted, or a job
that never ends shows up as a poll without an answer, and the job is sent again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from flashlearn.classroom.job import Grade, Grading, Job, OnProgress, failed, perform, read_outcome
from flashlearn.classroom.records import SubmissionGrade
from flashlearn.classroom.workers.pool import PATIENCE, TRIES
from flashlearn.course.files import CourseError

POLL = 0.05
"""Seconds between two polls of the jobs in one."""

CONNECTING = "30s"
"""How long a scheduler is waited for."""

LOOKING = 1.0
"""Seconds between two looks whether a scheduler has workers."""

WAITING = 600.0
"""Seconds that a scheduler without workers is waited for."""

RECONNECTING = 15.0
"""Seconds after which a scheduler without workers is connected to anew: it may be another one."""

ALONE = (
    "The scheduler at {address} has no workers. If it was restarted, start the workers again: `dask worker "
    "{address} --nworkers auto --nthreads 1`. They are waited for, {minutes:.0f} minutes at most."
)
GIVEN_UP = (
    "The scheduler at {address} had no workers for {minutes:.0f} minutes. The grades so far are kept; the "
    "same command continues from there."
)

_graders: dict[str, Grade] = {}
_stacks = contextlib.ExitStack()
_one_at_a_time = threading.Lock()


def perform_remotely(text: str, grading: str) -> str:
    """Grade one job in a process of the cluster, which keeps its grader for the next job."""
    with _one_at_a_time:
        if grading not in _graders:
            _graders[grading] = _stacks.enter_context(Grading(**json.loads(grading)).grader())
        outcome = perform(text, _graders[grading])
        if "failed" in json.loads(outcome):  # a failure may leave a grader in a bad state
            _graders.clear()
            _stacks.close()
        return outcome


@dataclass
class PendingJob:
    """A job that was sent, and its deadline on the monotonic clock."""

    job: Job
    future: Any
    until: float


class Cluster:
    """A cluster that grades, in place of the local pool."""

    def __init__(
        self,
        address: str,
        grading: Grading,
        patience: float = PATIENCE,
        tries: int = TRIES,
        say: Callable[[str], None] = lambda sentence: None,
    ):
        try:
            import distributed
        except ImportError:
            raise CourseError(
                "Grading on a cluster requires Dask: `pip install 'flashlearn[cluster]'`."
            ) from None
        self.connect = lambda: distributed.Client(address, timeout=CONNECTING, set_as_default=False)
        self.address, self.patience, self.most = address, patience, tries
        self.how = json.dumps(dataclasses.asdict(grading))
        self.tries: dict[tuple[str, str], int] = {}
        self.again: deque[Job] = deque()
        self.pending: list[PendingJob] = []
        self.client: Any = None
        self.resent = 0
        self.say = say
        self.alone, self.connected, self.looked = math.inf, 0.0, 0.0

    def __enter__(self) -> Cluster:
        self._connect()
        return self

    def __exit__(self, *_error: object) -> None:
        with contextlib.suppress(Exception):  # a scheduler that is gone has nothing to cancel
            self.client.cancel([one.future for one in self.pending], force=True)
        with contextlib.suppress(Exception):
            self.client.close(timeout=5)

    def run(
        self, jobs: Iterable[Job], _on_progress: OnProgress = lambda job, judged: None
    ) -> Iterator[tuple[Job, SubmissionGrade]]:
        """Grade all jobs; each is yielded once with its grade. As many are in flight as there are threads.

        A remote worker reports nothing before it has the whole grade.
        """
        waiting = iter(jobs)
        while True:
            self._send(waiting)
            if not self.pending:
                return
            time.sleep(POLL)
            if self.client.status not in ("running", "connecting"):
                self._connect()
                self._resend_all()
            self._look_for_workers()
            for one in list(self.pending):
                yield from self._poll(one)

    def _send(self, waiting: Iterator[Job]) -> None:
        slots = max(1, self._threads())
        while len(self.pending) < slots:
            job = next(waiting, None) or (self.again.popleft() if self.again else None)
            if job is None:
                return
            number = self.tries[job.key] = self.tries.get(job.key, 0) + 1
            name = f"flashlearn-{'-'.join(job.key)}-{number}-{time.monotonic_ns()}"
            future = self.client.submit(
                perform_remotely, job.text(), self.how, key=name, pure=False, retries=0
            )
            self.pending.append(PendingJob(job, future, time.monotonic() + self.patience))

    def _poll(self, one: PendingJob) -> Iterator[tuple[Job, SubmissionGrade]]:
        status = one.future.status
        if status == "pending" and not self._is_late(one):
            return
        self.pending.remove(one)
        if status == "finished":
            try:
                outcome = read_outcome(one.job, one.future.result(timeout=60))
            except Exception as error:  # the worker died between its answer and our poll
                outcome = f"{type(error).__name__}: {error}"
            if isinstance(outcome, str):
                yield from self._retry(one.job, outcome)
            else:
                self.tries.pop(one.job.key, None)
                yield one.job, outcome
        elif status == "pending":
            yield from self._retry(one.job, f"it took more than {self.patience:g} s")
        elif status == "error":
            error = one.future.exception(timeout=60)
            yield from self._retry(one.job, f"{type(error).__name__}: {str(error)[:200]}")
        else:  # lost, or cancelled by a scheduler that was restarted: not the job's fault
            self._resend(one.job)

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

    def _is_late(self, one: PendingJob) -> bool:
        """Whether a worker is stuck in a job: then the worker is restarted. A job without a worker waits."""
        if time.monotonic() < one.until:
            return False
        one.until += self.patience
        with contextlib.suppress(Exception):  # not every cluster can restart workers
            holding = [w for w, keys in self.client.processing().items() if one.future.key in keys]
            if holding:
                one.future.cancel(force=True)
                self.client.restart_workers(holding, timeout=30)
                return True
        return False

    def _resend_all(self) -> None:
        for one in self.pending:
            self._resend(one.job)
        self.pending.clear()

    def _look_for_workers(self) -> None:
        """Say that no worker is there; connect anew, and give up after a while. Raises CourseError.

        A scheduler that was restarted knows no worker, and no job of ours.
        """
        now = time.monotonic()
        if now - self.looked < LOOKING:
            return
        self.looked = now
        if self._threads(0):
            self.alone = math.inf
            return
        if self.alone == math.inf:
            self.alone = now
            self.say(ALONE.format(address=self.address, minutes=WAITING / 60))
        elif now - self.alone > WAITING:
            raise CourseError(GIVEN_UP.format(address=self.address, minutes=WAITING / 60))
        elif now - self.connected > RECONNECTING:
            self._connect()
            self._resend_all()

    def _threads(self, unknown: int | None = None) -> int:
        with contextlib.suppress(Exception):
            return sum(self.client.nthreads().values())
        return len(self.pending) if unknown is None else unknown

    def _connect(self) -> None:
        if self.client is not None:
            with contextlib.suppress(Exception):
                self.client.close(timeout=5)
        try:
            self.client = self.connect()
            self.connected = time.monotonic()
        except (OSError, TimeoutError, ValueError) as error:
            raise CourseError(f"There is no scheduler at {self.address}: {error}.") from error
