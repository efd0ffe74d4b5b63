"""Work done by a forked process, which has everything that this one has, and takes a crash with it.

    >>> with Forked(lambda send: send({"answer": 42}), seconds=10) as forked:
    ...     list(forked.answers(patience=1.0))                  # [{"answer": 42}]

What it prints goes nowhere. It ends with its seconds of a processor, with the block, and with whatever
kills it.
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

Send = Callable[[Any], None]


class Forked:
    """A process that runs `work(send)`; what it sends, as JSON, comes out of `answers`.

    `ended` is None while it runs, its exit code afterwards: negative for a signal. Raises OSError where no
    process can be had.
    """

    def __init__(self, work: Callable[[Send], None], seconds: int):
        self.ended: int | None = None
        self._parent = os.getpid()
        self._pipe, out = os.pipe()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of forks beside threads
                self.number = os.fork()
        except OSError:
            os.close(self._pipe)
            os.close(out)
            raise
        if self.number == 0:
            _work_and_exit(work, out, seconds)
        os.close(out)

    def answers(self, patience: float) -> Iterator[Any]:
        """What the process sends, as it comes; ends with the process, or after `patience` seconds."""
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
        except ChildProcessError:  # nobody waits for children where signals of their end are ignored
            self.ended = 0

    def __del__(self) -> None:
        if hasattr(self, "number") and self._parent == os.getpid():  # a fork's copy of this ends nobody
            self.close()

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _work_and_exit(work: Callable[[Send], None], out: int, seconds: int) -> None:
    """In the forked process: work, in silence, and end without what the parent does at its end."""
    code = 1
    try:
        faulthandler.disable()
        for one in (signal.SIGINT, signal.SIGPROF):
            signal.signal(one, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of a processor: a busy machine takes none of them
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        work(lambda answer: _send(out, answer))
        code = 0
    finally:
        os._exit(code)


def _send(out: int, answer: Any) -> None:
    data = memoryview(json.dumps(answer).encode() + b"\n")
    while data:
        data = data[os.write(out, data) :]
