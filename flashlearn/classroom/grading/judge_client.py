"""The process that forks judges, from outside: a fresh one, or a fork of one that has the lessons in memory.

>>> judges = Judges.started()
>>> socket.send_fds(judges.control, [b"j"], [theirs.fileno()])      # a judge serves the other end
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys

from flashlearn.classroom.ending import end_with
from flashlearn.classroom.grading.judge_server import READY, serve
from flashlearn.classroom.sandbox.readable_paths import PACKAGE
from flashlearn.running.remote_answer import STARTING, ChildError


class Judges:
    """The socket over which judges are asked for, and the process that forks them."""

    def __init__(self, control: socket.socket, number: int, process: subprocess.Popen | None = None):
        self.control, self.number, self.process = control, number, process

    @classmethod
    def started(cls) -> Judges:
        """A process that imports everything itself. Raises ChildError."""
        control, theirs = socket.socketpair()
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH")))
        )
        quiet = None if os.environ.get("FLASHLEARN_KEEPER_ERRORS") else subprocess.DEVNULL
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", "flashlearn.classroom.grading.judge_server", str(theirs.fileno())],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=quiet, env=environment,
                pass_fds=[theirs.fileno()], start_new_session=True,
            )  # fmt: skip
        made = cls(control, process.pid, process)
        control.settimeout(STARTING)
        if control.recv(len(READY)) != READY:
            made.close()
            raise ChildError("the process that judges could not be started")
        return made

    @classmethod
    def forked(cls) -> Judges:
        """A fork of this process, which is warm."""
        control, theirs = socket.socketpair()
        parent, number = os.getpid(), os.fork()
        if number == 0:
            code = 1
            try:
                os.setsid()
                end_with(parent)
                keep = theirs.fileno()
                os.closerange(3, keep)
                os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
                serve(theirs)
                code = 0
            finally:
                os._exit(code)
        theirs.close()
        return cls(control, number)

    def close(self) -> None:
        """End the process, and every judge with it."""
        self.control.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.number, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.number, 0)
