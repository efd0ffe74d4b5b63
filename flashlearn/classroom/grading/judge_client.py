"""The fork server of judges (`judge_server.py`): a fresh process, or a fork of one that has the lessons.

>>> server = JudgeServer.start()
>>> connection = fork_server.connect(server.control)      # a judge serves the other end
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys

from flashlearn.classroom.grading.judge_server import READY, serve
from flashlearn.classroom.sandbox.readable_paths import PACKAGE
from flashlearn.processes.forked import fork
from flashlearn.processes.limits import close_inherited, end_with_parent, kill_group
from flashlearn.processes.start import STARTING, ChildError, start_with_socket


class JudgeServer:
    """The server process, and the socket over which judges are requested."""

    def __init__(self, control: socket.socket, number: int, process: subprocess.Popen | None = None):
        self.control, self.number, self.process = control, number, process

    @classmethod
    def start(cls) -> JudgeServer:
        """A process that imports everything itself. Raises ChildError."""
        control, theirs = socket.socketpair()
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(
            filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH")))
        )
        quiet = None if os.environ.get("FLASHLEARN_SANDBOX_ERRORS") else subprocess.DEVNULL
        module = [sys.executable, "-m", "flashlearn.classroom.grading.judge_server", str(theirs.fileno())]
        process = start_with_socket(module, theirs, environment, stderr=quiet)
        server = cls(control, process.pid, process)
        control.settimeout(STARTING)
        if control.recv(len(READY)) != READY:
            server.close()
            raise ChildError("the process that judges could not be started")
        return server

    @classmethod
    def fork(cls) -> JudgeServer:
        """A fork of this process, which is warm."""
        control, theirs = socket.socketpair()
        parent = os.getpid()

        def work() -> None:
            os.setsid()
            end_with_parent(parent)
            close_inherited(theirs.fileno())
            serve(theirs)

        number = fork(work)
        theirs.close()
        return cls(control, number)

    def close(self) -> None:
        """End the process, and every judge with it."""
        self.control.close()
        kill_group(self.number)
        if self.process is not None:
            self.process.wait()
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.number, 0)
