"""Functions in forked processes, which have everything that this one has, and take a crash with them.

    >>> number = fork(lambda: serve(connection))                # a child, by its process id
    >>> with Forked(lambda send: send({"answer": 42}), seconds=10) as forked:
    ...     list(forked.answers(patience=1.0))                  # [{"answer": 42}]

What a `Forked` prints is dropped. It ends when its CPU time is used up, or with the block.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from flashlearn.processes.limits import silence

Send = Callable[[Any], None]


def fork(work: Callable[[], object]) -> int:
    """Fork a child that does the work and exits, with 0, or with 1 if the work raised; its process id.

    It exits by os._exit, so nothing that this process does at its own end (atexit, buffers) is done twice.
    Raises OSError if no process can be made.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of forks beside threads
        number = os.fork()
    if number == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return number


class Forked:
    """A process that runs `work(send)`; what it sends, as JSON, comes out of `answers`.

    It may use `seconds` of CPU time. `ended` is None while it runs, its exit code afterwards: negative for a
    signal. Raises OSError if no process can be made.
    """

    def __init__(self, work: Callable[[Send], None], seconds: int):
        self.ended: int | None = None
        self._parent = os.getpid()
        self._pipe, out = os.pipe()
        try:
            self.number = fork(lambda: _run(work, out, seconds))
        except OSError:
            os.close(self._pipe)
            os.close(out)
            raise
        os.close(out)

    def answers(self, patience: float) -> Iterator[Any]:
        """What the process sends, as it arrives; ends with the process, or after `patience` seconds."""
        until, rest = time.monotonic() + patience, b""
        while True:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._pipe], [], [], left)[0]:
                return
            piece = os.read(self._pipe, 1 << 16)
            if not piece:
                self._wait()
                return
            *lines, rest = (rest + piece).split(b"\n")
            yield from map(json.loads, lines)

    def close(self) -> None:
        """End the process."""
        if self.ended is None:
            with suppress(ProcessLookupError):
                os.kill(self.number, signal.SIGKILL)
            self._wait()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def _wait(self) -> None:
        try:
            _, status = os.waitpid(self.number, 0)
            self.ended = os.waitstatus_to_exitcode(status)
        except ChildProcessError:  # reaped already: this process ignores SIGCHLD
            self.ended = 0

    def __del__(self) -> None:
        if hasattr(self, "number") and self._parent == os.getpid():  # not a fork's copy of this
            self.close()

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _run(work: Callable[[Send], None], out: int, seconds: int) -> None:
    """In the forked process: do the work without output, and within its CPU time."""
    faulthandler.disable()
    for one in (signal.SIGINT, signal.SIGPROF):
        signal.signal(one, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # CPU time: a busy machine does not shorten it
    silence()
    work(lambda answer: _send(out, answer))


def _send(out: int, answer: Any) -> None:
    data = memoryview(json.dumps(answer).encode() + b"\n")
    while data:
        data = data[os.write(out, data) :]
