"""The process that workers are forked from, from outside.

>>> with House(Grading()) as house:
...     channel, handle = house.worker()
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
from multiprocessing.connection import Connection

from flashlearn.classroom.job import Grading
from flashlearn.classroom.workers.server import CANNOT, READY
from flashlearn.course.files import CourseError
from flashlearn.course.packaged_lessons import ROOT

STARTING = 300.0
"""Seconds that it may take to import what it needs."""

STILLBORN = 20
"""So many of these processes in a row may die before they have made a worker, until none ever will."""


class House:
    """It is started with the first worker, and again if it was killed."""

    def __init__(self, grading: Grading):
        self.grading = grading
        self.control: socket.socket | None = None
        self.process: subprocess.Popen | None = None
        self.started = 0
        self.ready = False

    def worker(self) -> tuple[Connection, int]:
        """A new worker: where it hears and answers, and a handle of its process. Raises CourseError."""
        for _ in range(STILLBORN):
            if self.gone():
                self.close()
                self._start()
            with contextlib.suppress(OSError):
                return self._forked()
            self.close()
        raise CourseError(f"Grading cannot begin: what makes workers died {STILLBORN} times in a row.")

    def gone(self) -> bool:
        """Whether there is no such process, not yet or no more."""
        return self.process is None or self.process.poll() is not None

    def close(self) -> None:
        """End it, and with it every worker."""
        if self.process is not None and self.control is not None:
            self.control.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10.0 if self.ready else 0.0)  # it ends what it has started
            self.process.kill()
            self.process.wait()
            self.control, self.process, self.ready = None, None, False

    def __enter__(self) -> House:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _forked(self) -> tuple[Connection, int]:
        """Raises OSError where the process is gone."""
        assert self.control is not None
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self.control, [b"w"], [theirs.fileno()])
            _, handles, _, _ = socket.recv_fds(self.control, 1, 1)
            if not handles:
                raise OSError("what makes workers is gone")
        except OSError:
            ours.close()
            raise
        return Connection(ours.detach()), handles[0]

    def _start(self) -> None:
        self.control, theirs = socket.socketpair()
        how = json.dumps(dataclasses.asdict(self.grading))
        module = ["-m", "flashlearn.classroom.workers.server", str(theirs.fileno()), how, str(os.getpid())]
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, *module],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,  # warnings of libraries, which would tear the progress bar apart
                pass_fds=[theirs.fileno()],
                env={**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
                cwd=ROOT,  # not where the teacher is: that may be among students' files, json.py among them
                start_new_session=True,  # Ctrl-C is for the parent, which ends its workers itself
            )
        self.started += 1
        self.control.settimeout(STARTING)
        with contextlib.suppress(OSError):  # one that is gone is noticed when it is asked for a worker
            said = self.control.recv(1 << 16)
            if said.startswith(CANNOT):
                raise CourseError(f"Grading cannot begin. {said.removeprefix(CANNOT).decode()}")
            self.ready = said == READY
