"""The process in which launches are tried first: started early, and kept for the next check.

    >>> process = shared()                     # one for this session
    >>> process.start()                        # imports torch and takes the GPU, while this process goes on
    >>> process.answer(task)                   # "done", "failed", or "hung": then it was killed
    'done'

Starting takes seconds. `trial_child.py` is what runs in it.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch

from flashlearn.running.trial_child import HEAD

COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "flashlearn.running.trial_child")
STARTING = 120.0
"""Seconds in which the process imports what it needs and loads a kernel."""
RUNNING = 10.0
"""Seconds in which a launch ends: a kernel of a check takes milliseconds."""


class TrialProcess:
    """The child process; it is started with the first task, if not before."""

    def __init__(
        self, command: Sequence[str] = COMMAND, starting: float = STARTING, running: float = RUNNING
    ):
        self.command, self.starting, self.running = tuple(command), starting, running
        self._child: subprocess.Popen | None = None
        self._parent = 0

    def start(self) -> None:
        """Start it, unless it is there. Raises OSError if no process can be made."""
        if self._child is not None and (self._parent != os.getpid() or self._child.poll() is not None):
            self.close()  # another process's, or one that ended
        if self._child is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
            self._child, self._parent = subprocess.Popen(self.command, **pipes), os.getpid()

    def answer(self, task: dict[str, Any]) -> str:
        """What became of a task. Raises OSError or EOFError if the process ended, or could not be started.

        After "hung" and "failed" the process is ended: an error on a GPU stays with its process.
        """
        packed = io.BytesIO()
        torch.save(task, packed)
        try:
            self.start()
            self._child.stdin.write(HEAD.pack(packed.tell()) + packed.getvalue())
            word = self._word(self.starting, skip="up")
            answer = self._word(self.running) if word == "ready" else "failed"
        except (OSError, EOFError):
            self.close()
            raise
        if answer != "done":
            self.close()
        return answer or "hung"

    def _word(self, patience: float, skip: str = "") -> str | None:
        """A line from the child that is not `skip`; None if none comes in time. EOFError if it is gone."""
        until, line = time.monotonic() + patience, b""
        while not line.endswith(b"\n") or line.decode().strip() == skip:
            line = b"" if line.endswith(b"\n") else line
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._child.stdout], [], [], left)[0]:
                return None
            piece = self._child.stdout.read(1)
            if not piece:
                raise EOFError
            line += piece
        return line.decode().strip()

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is None:
            return
        if self._parent == os.getpid():
            child.kill()
            child.wait()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def __enter__(self) -> TrialProcess:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


@functools.cache
def shared() -> TrialProcess:
    """The one of this session. It ends with the session, when its stdin is closed."""
    return TrialProcess()
