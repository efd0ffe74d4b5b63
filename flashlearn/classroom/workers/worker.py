"""A worker of the local pool: it receives a job, grades it, and sends the grade."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from multiprocessing.connection import Connection

from flashlearn.classroom.job import Grade, perform
from flashlearn.classroom.records import JudgedExercise

READY = b"ready"
"""What a worker sends first, when its grader is ready."""

CANNOT = b"cannot "
"""What it sends before the reason if it cannot start."""

JUDGED = b"judged "
"""What it sends before each exercise's grade, as soon as there is one."""


def work(channel: Connection, make_grader: Callable[[], contextlib.AbstractContextManager[Grade]]) -> None:
    """Grade jobs until the pool closes the connection."""
    with contextlib.ExitStack() as stack:
        try:
            grade = stack.enter_context(make_grader())
        except Exception as error:  # the pool reports it
            channel.send_bytes(CANNOT + f"{type(error).__name__}: {error}".encode())
            return
        channel.send_bytes(READY)

        def send_judged(judged: JudgedExercise) -> None:
            channel.send_bytes(JUDGED + json.dumps(dataclasses.asdict(judged)).encode())

        while True:
            try:
                text = channel.recv_bytes().decode()
            except (EOFError, OSError):
                return
            channel.send_bytes(perform(text, grade, send_judged).encode())
