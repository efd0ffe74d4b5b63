"""The process that forks confined children, from outside.

>>> with Keeper() as keeper:
...     connection, handle = keeper.child()

What grades a whole class has one such process, and takes a room of it for each of its workers: a room costs
a fork, and its children share nothing with those of another room.

>>> with keeper.room() as room:
...     connection, handle = room.child()
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
from flashlearn.classroom.sandbox.server import CHILD, READY, ROOM
from flashlearn.running.remote_answer import STARTING, ChildError


class NotConfined(RuntimeError):
    """There are not enough walls here to run strangers' code; the message says which are lacking."""


class Maker:
    """Whoever makes confined children, by a socket: a room, or the keeper itself."""

    def __init__(self, control: socket.socket, walls: layers.Layers, limits: Limits):
        self.control, self.walls, self.limits = control, walls, limits

    def child(self) -> tuple[socket.socket, int]:
        """The socket of a new child, and a handle of its process. Raises ChildError."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.control, [CHILD], [theirs.fileno()])
                self.control.settimeout(STARTING)
                _, handles, _, _ = socket.recv_fds(self.control, 1, 1)
            except OSError as error:
                ours.close()
                raise ChildError(f"the process that makes children is gone: {error}") from None
        if not handles:
            ours.close()
            raise ChildError("the process that makes children is gone")
        return ours, handles[0]

    def close(self) -> None:
        """Ask no more: a room ends with its children when nobody else can ask it."""
        self.control.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class Keeper(Maker):
    """The process that forks confined children. Raises NotConfined; with `unsafe` there are no walls.

    It makes children for one submission after the other, or rooms, but not both.
    """

    def __init__(
        self,
        walls: layers.Layers | None = None,
        limits: Limits | None = None,
        unsafe: bool = False,
        wait: bool = True,
    ):
        standing = layers.NONE if unsafe else layers.standing() if walls is None else walls
        if not unsafe and (why := standing.lacking()):
            raise NotConfined(f"Strangers' code is not run here: {why}.")
        ours, theirs = socket.socketpair()
        super().__init__(ours, standing, limits or Limits())
        self.folder = ""  # bubblewrap makes one that nobody else sees
        if layers.BUBBLEWRAP not in standing:
            self.folder = tempfile.mkdtemp(prefix="flashlearn-room-")
        try:
            with theirs:
                self.process = self._started(theirs)
            if wait:
                self.wait()
        except BaseException:
            self.close()
            raise

    def wait(self) -> None:
        """Return when it is ready. Raises ChildError where it never will be."""
        if not _heard(self.control, READY):
            raise ChildError("the process that makes children could not be started")

    def room(self) -> Maker | None:
        """A room apart from all others; None where this system lets none be made by forking.

        Raises ChildError where the process is gone.
        """
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                socket.send_fds(self.control, [ROOM], [theirs.fileno()])
        except OSError as error:
            ours.close()
            raise ChildError(f"the process that makes children is gone: {error}") from None
        if _heard(ours, READY):
            return Maker(ours, self.walls, self.limits)
        ours.close()
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

    def _started(self, theirs: socket.socket) -> subprocess.Popen:
        paths, limits = readable(), dataclasses.asdict(self.limits)
        folder = self.folder or "/tmp"
        plan = {"walls": self.walls.names, "readable": paths, "folder": folder, "limits": limits}
        module = ["-m", f"{__package__}.server", str(theirs.fileno()), json.dumps(plan)]
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


def _heard(connection: socket.socket, word: bytes) -> bool:
    connection.settimeout(STARTING)
    try:
        return connection.recv(len(word)) == word
    except OSError:
        return False
