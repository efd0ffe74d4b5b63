"""The process that workers of the local pool are forked from: `python -m … SOCKET GRADING PARENT`.

It has imported what grading takes, once for a whole run. It takes no jobs itself, so whatever becomes of a
worker, the next one costs a fork. It ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from multiprocessing.connection import Connection

from flashlearn.classroom.ending import end_with
from flashlearn.classroom.job import Grading, Shared
from flashlearn.classroom.workers import worker

READY, CANNOT = b"ready ", b"cannot "
"""What it says first; after the second comes the reason."""


def main(control: socket.socket, grading: Grading, parent: int) -> None:
    """Fork a worker for each socket that comes, and send a handle of its process back."""
    end_with(parent)
    try:
        shared = grading.shared()
    except Exception as error:  # whoever waits says it
        control.sendall(CANNOT + f"{type(error).__name__}: {error}".encode())
        return
    try:
        control.sendall(READY)
        _serve(control, grading, shared)
    finally:
        if shared is not None:
            shared.close()


def _serve(control: socket.socket, grading: Grading, shared: Shared | None) -> None:
    workers: list[int] = []
    while True:
        message, handles, _, _ = socket.recv_fds(control, 1, 1)
        workers = [number for number in workers if os.waitpid(number, os.WNOHANG)[0] == 0]
        if not message:
            return
        part = shared.part() if shared is not None else None
        house, number = os.getpid(), os.fork()
        if number == 0:
            _be_a_worker(control, handles[0], grading, shared, part, house)
        os.close(handles[0])
        if part is not None:
            part.close()
        workers.append(number)
        handle = os.pidfd_open(number)
        socket.send_fds(control, [b"w"], [handle])
        os.close(handle)


def _be_a_worker(
    control: socket.socket, handle: int, grading: Grading, shared: Shared | None, part: object, house: int
) -> None:
    code = 1
    try:
        end_with(house)
        control.close()
        with contextlib.suppress(KeyboardInterrupt):
            worker.work(Connection(handle), lambda: grading.begun(shared, part))
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), Grading(**json.loads(sys.argv[2])), int(sys.argv[3]))
