"""The sandbox's fork server (`server.py`), seen from the process that starts it.

>>> with SandboxServer() as server:
...     connection, pidfd = server.child()

Grading a whole class takes one server, and one factory of it for each worker: a factory costs a fork, and its
children share nothing with those of another factory.

>>> with server.factory() as factory:
...     connection, pidfd = factory.child()
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import Self

from flashlearn.classroom.sandbox import layers
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.classroom.sandbox.readable_paths import PACKAGE, readable
from flashlearn.classroom.sandbox.server import CHILD, FACTORY, READY
from flashlearn.processes import fork_server
from flashlearn.processes.start import STARTING, ChildError, start_with_socket


class NotConfined(RuntimeError):
    """This machine has too few sandbox layers to run students' code; the message says which are missing."""


class SandboxFactory:
    """A client of a process that forks sandboxed children: of a factory, or of the server itself."""

    def __init__(self, control: socket.socket, applied: layers.Layers, limits: Limits):
        self.control, self.layers, self.limits = control, applied, limits

    def child(self) -> tuple[socket.socket, int]:
        """The socket of a new child, and its pidfd. Raises ChildError."""
        try:
            return fork_server.child(self.control, CHILD, STARTING)
        except OSError as error:
            raise ChildError(f"the process that makes children is gone: {error}") from None

    def close(self) -> None:
        """Close our end: a factory ends with its children when its last client is gone."""
        self.control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class SandboxServer(SandboxFactory):
    """The server process. Raises NotConfined; with `unsafe` there are no layers.

    It makes children for one submission after the other, or factories, but not both.
    """

    def __init__(
        self,
        applied: layers.Layers | None = None,
        limits: Limits | None = None,
        unsafe: bool = False,
        wait: bool = True,
    ):
        chosen = layers.NONE if unsafe else layers.available() if applied is None else applied
        if not unsafe and (why := chosen.insufficient()):
            raise NotConfined(f"Students' code is not run here: {why}.")
        ours, theirs = socket.socketpair()
        super().__init__(ours, chosen, limits or Limits())
        self.folder = ""  # bubblewrap makes a private one
        if layers.BUBBLEWRAP not in chosen:
            self.folder = tempfile.mkdtemp(prefix="flashlearn-sandbox-")
        try:
            with theirs:
                self.process = self._start(theirs)
            if wait:
                self.wait()
        except BaseException:
            self.close()
            raise

    def wait(self) -> None:
        """Return when it is ready. Raises ChildError if it cannot be started."""
        if not fork_server.says(self.control, READY, STARTING):
            raise ChildError("the process that makes children could not be started")

    def factory(self) -> SandboxFactory | None:
        """A factory separate from all others; None if this system allows none to be made by forking.

        Raises ChildError if the process is gone.
        """
        try:
            control = fork_server.connect(self.control, FACTORY)
        except OSError as error:
            raise ChildError(f"the process that makes children is gone: {error}") from None
        if fork_server.says(control, READY, STARTING):
            return SandboxFactory(control, self.layers, self.limits)
        control.close()
        if self.process.poll() is not None:
            raise ChildError("the process that makes children is gone")
        return None

    def close(self) -> None:
        """End the process, and with it every child."""
        self.control.close()
        process = getattr(self, "process", None)
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5.0)
            if process.poll() is None:
                process.kill()
                process.wait()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, theirs: socket.socket) -> subprocess.Popen:
        paths, limits = readable(), dataclasses.asdict(self.limits)
        folder = self.folder or "/tmp"
        plan = {"layers": self.layers.names, "readable": paths, "folder": folder, "limits": limits}
        module = ["-m", f"{__package__}.server", str(theirs.fileno()), json.dumps(plan)]
        environment = {"HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8", "PYTHONPATH": str(PACKAGE.parent)}
        environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
        command = [sys.executable, *module]
        if layers.BUBBLEWRAP in self.layers:
            around = layers.bubblewrap(shutil.which("bwrap") or "bwrap", paths, self.limits.scratch)
            for name, value in environment.items():
                around += ["--setenv", name, value]
            command = [*around, "--", *command]
        quiet = None if os.environ.get("FLASHLEARN_SANDBOX_ERRORS") else subprocess.DEVNULL
        return start_with_socket(command, theirs, environment, "/", quiet)
