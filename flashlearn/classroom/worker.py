"""A worker of the local pool: it takes a job, grades it, and answers: `python -m … SOCKET GRADING`.

It ends with the process that started it, whatever ended that.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from multiprocessing.connection import Connection

from flashlearn.classroom.job import Grading, perform

PR_SET_PDEATHSIG = 1

READY = b"ready"
"""What a worker says first, when everything is imported."""

CANNOT = b"cannot "
"""What it says where it cannot begin, before the reason."""


def main(channel: Connection, grading: Grading, parent: int) -> None:
    """Answer jobs until nobody sends any more."""
    _end_with(parent)
    with contextlib.ExitStack() as stack:
        try:
            grade = stack.enter_context(grading.begun())
        except Exception as error:  # whoever waits for this worker says it
            channel.send_bytes(CANNOT + f"{type(error).__name__}: {error}".encode())
            return
        channel.send_bytes(READY)
        while True:
            try:
                text = channel.recv_bytes().decode()
            except (EOFError, OSError):
                return
            channel.send_bytes(perform(text, grade).encode())


def _end_with(parent: int) -> None:
    """Have the system end this process when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before
        os._exit(1)


if __name__ == "__main__":
    main(Connection(int(sys.argv[1])), Grading(**json.loads(sys.argv[2])), int(sys.argv[3]))
