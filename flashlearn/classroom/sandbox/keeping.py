"""The process that forks confined children, from outside.

>>> with Keeper() as keeper:
...     connection, handle = keeper.child()
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

from flashlearn.classroom.sandbox import layers
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.classroom.sandbox.view import PACKAGE, readable
from flashlearn.running.apart import STARTING, ChildError


class NotConfined(RuntimeError):
    """There are not enough walls here to run strangers' code; the message says which are lacking."""


class Keeper:
    """The process that forks confined children. Raises NotConfined; with `unsafe` there are no walls."""

    def __init__(
        self, walls: layers.Layers | None = None, limits: Limits | None = None, unsafe: bool = False
    ):
        self.walls = layers.NONE if unsafe else layers.standing() if walls is None else walls
        self.limits = limits or Limits()
        if not unsafe and (why := self.walls.lacking()):
            raise NotConfined(f"Strangers' code is not run here: {why}.")
        self.folder = tempfile.mkdtemp(prefix="flashlearn-room-")
        self.control, theirs = socket.socketpair()
        try:
            with theirs:
                self.process = self._started(theirs)
            self._heard(b"ready")
        except BaseException:
            self.close()
            raise

    def child(self) -> tuple[socket.socket, int]:
        """The socket of a new child, and a handle of its process. Raises ChildError."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.control, [b"c"], [theirs.fileno()])
                self.control.settimeout(STARTING)
                _, handles, _, _ = socket.recv_fds(self.control, 1, 1)
            except OSError as error:
                raise ChildError(f"the process that makes children is gone: {error}") from None
        if not handles:
            ours.close()
            raise ChildError("the process that makes children is gone")
        return ours, handles[0]

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
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Keeper:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _started(self, theirs: socket.socket) -> subprocess.Popen:
        paths, limits = readable(), dataclasses.asdict(self.limits)
        folder = "/tmp" if layers.BUBBLEWRAP in self.walls else self.folder
        plan = {"walls": self.walls.names, "readable": paths, "folder": folder, "limits": limits}
        module = ["-m", f"{__package__}.keeper", str(theirs.fileno()), json.dumps(plan)]
        environment = {"HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8", "PYTHONPATH": str(PACKAGE.parent)}
        environment |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1"}
        command = [sys.executable, *module]
        if layers.BUBBLEWRAP in self.walls:
            around = layers.bubblewrap(shutil.which("bwrap") or "bwrap", paths, self.limits.scratch)
            for name, value in environment.items():
                around += ["--setenv", name, value]
            command = [*around, "--", *command]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if os.environ.get("FLASHLEARN_KEEPER_ERRORS") else subprocess.DEVNULL,
            env=environment,
            cwd="/",
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )

    def _heard(self, word: bytes) -> None:
        self.control.settimeout(STARTING)
        try:
            said = self.control.recv(len(word))
        except OSError:
            said = b""
        if said != word:
            raise ChildError("the process that makes children could not be started")
