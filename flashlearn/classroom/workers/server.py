"""The fork server of the local pool's workers: `python -m … SOCKET GRADING PARENT`.

It has imported what grading needs, once for a whole run. It grades nothing itself, so a worker that dies is
replaced at the cost of a fork. It ends with the process that started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sys
from functools import partial
from multiprocessing.connection import Connection

from flashlearn.classroom.job import Grading, SharedGrader
from flashlearn.classroom.workers import worker
from flashlearn.processes import fork_server
from flashlearn.processes.forked import fork
from flashlearn.processes.limits import end_with_parent

READY, CANNOT = b"ready ", b"cannot "
"""What it sends first; the second is followed by the reason."""


def main(control: socket.socket, grading: Grading, parent: int) -> None:
    """Fork a worker for each request, and report it."""
    end_with_parent(parent)
    try:
        shared = grading.shared()
    except Exception as error:  # the client reports it
        control.sendall(CANNOT + f"{type(error).__name__}: {error}".encode())
        return
    try:
        control.sendall(READY)
        _serve(control, grading, shared)
    finally:
        if shared is not None:
            shared.close()


def _serve(control: socket.socket, grading: Grading, shared: SharedGrader | None) -> None:
    workers: list[int] = []
    for _, connection in fork_server.requests(control):
        workers = [number for number in workers if os.waitpid(number, os.WNOHANG)[0] == 0]
        share = shared.share() if shared is not None else None
        number = fork(partial(_run_worker, control, connection, grading, shared, share, os.getpid()))
        os.close(connection)
        if share is not None:
            share.close()
        workers.append(number)
        fork_server.report(control, number)


def _run_worker(
    control: socket.socket,
    connection: int,
    grading: Grading,
    shared: SharedGrader | None,
    share: object,
    server: int,
) -> None:
    end_with_parent(server)
    control.close()
    with contextlib.suppress(KeyboardInterrupt):
        worker.work(Connection(connection), lambda: grading.grader(shared, share))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), Grading(**json.loads(sys.argv[2])), int(sys.argv[3]))
