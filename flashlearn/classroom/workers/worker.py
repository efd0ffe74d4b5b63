"""A worker of the local pool: it takes a job, grades it, and answers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from multiprocessing.connection import Connection

from flashlearn.classroom.job import Grade, perform
from flashlearn.classroom.records import Judged

READY = b"ready"
"""What a worker says first, when it has its grader."""

CANNOT = b"cannot "
"""What it says where it cannot begin, before the reason."""

JUDGED = b"judged "
"""What it says before each exercise's grade, as soon as there is one."""


def work(channel: Connection, begun: Callable[[], contextlib.AbstractContextManager[Grade]]) -> None:
    """Answer jobs until nobody sends any more."""
    with contextlib.ExitStack() as stack:
        try:
            grade = stack.enter_context(begun())
        except Exception as error:  # whoever waits for this worker says it
            channel.send_bytes(CANNOT + f"{type(error).__name__}: {error}".encode())
            return
        channel.send_bytes(READY)

        def tell(judged: Judged) -> None:
            channel.send_bytes(JUDGED + json.dumps(dataclasses.asdict(judged)).encode())

        while True:
            try:
                text = channel.recv_bytes().decode()
            except (EOFError, OSError):
                return
            channel.send_bytes(perform(text, grade, tell).encode())
