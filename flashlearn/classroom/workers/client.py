"""The fork server of workers (`server.py`), seen from the pool.

>>> with WorkerServer(Grading()) as server:
...     channel, pidfd = server.worker()
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
from flashlearn.processes import fork_server
from flashlearn.processes.start import start_with_socket

STARTING = 300.0
"""Seconds that it may take to import what it needs."""

MAX_FAILED_STARTS = 20
"""How many of these processes in a row may die at their start before grading is given up."""


class WorkerServer:
    """The process that workers are forked from. It starts with the first worker, again if killed."""

    def __init__(self, grading: Grading):
        self.grading = grading
        self.control: socket.socket | None = None
        self.process: subprocess.Popen | None = None
        self.started = 0
        self.ready = False

    def worker(self) -> tuple[Connection, int]:
        """A new worker: the connection to it, and its pidfd. Raises CourseError."""
        for _ in range(MAX_FAILED_STARTS):
            if self.gone():
                self.close()
                self._start()
            with contextlib.suppress(OSError):
                return self._fork()
            self.close()
        raise CourseError(
            f"Grading cannot start: the process that forks workers died {MAX_FAILED_STARTS} times in a row."
        )

    def gone(self) -> bool:
        """Whether the process has not started yet, or has ended."""
        return self.process is None or self.process.poll() is not None

    def close(self) -> None:
        """End it, and with it every worker."""
        if self.process is not None and self.control is not None:
            self.control.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10.0 if self.ready else 0.0)  # it ends its children
            self.process.kill()
            self.process.wait()
            self.control, self.process, self.ready = None, None, False

    def __enter__(self) -> WorkerServer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _fork(self) -> tuple[Connection, int]:
        """Raises OSError if the process is gone."""
        assert self.control is not None
        connection, pidfd = fork_server.child(self.control)
        return Connection(connection.detach()), pidfd

    def _start(self) -> None:
        self.control, theirs = socket.socketpair()
        how = json.dumps(dataclasses.asdict(self.grading))
        module = ["-m", "flashlearn.classroom.workers.server", str(theirs.fileno()), how, str(os.getpid())]
        self.process = start_with_socket(
            [sys.executable, *module],
            theirs,
            {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"},
            ROOT,  # not the current folder: a student's json.py may be in it
            subprocess.DEVNULL,  # warnings of libraries, which would disturb the progress bar
        )
        self.started += 1
        self.control.settimeout(STARTING)
        with contextlib.suppress(OSError):  # a process that is gone is noticed at the first request
            first = self.control.recv(1 << 16)
            if first.startswith(CANNOT):
                raise CourseError(f"Grading cannot start. {first.removeprefix(CANNOT).decode()}")
            self.ready = first == READY
