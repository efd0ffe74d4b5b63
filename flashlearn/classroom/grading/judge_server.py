"""The fork server of judges, with the lessons in memory: `python -m … SOCKET`.

A judge reads what an untrusted process sends. Anything that this does to it, such as a number too large to
compute with or a message that fills memory, ends with that fork, and the next exercise gets another one.
"""

from __future__ import annotations

import gc
import os
import resource
import signal
import socket
import sys
from functools import partial

import torch

from flashlearn import checking
from flashlearn.classroom.grading import child_sources
from flashlearn.classroom.grading.judge import Judge
from flashlearn.classroom.grading.notebook_cells import course_cells
from flashlearn.course.answers import earlier_answer, solution
from flashlearn.lessons import all_exercises, find, lessons
from flashlearn.processes import fork_server
from flashlearn.processes.channel import Channel
from flashlearn.processes.forked import fork
from flashlearn.processes.limits import end_with_parent

READY = b"ready"
MEMORY = 6 << 30
"""Bytes of address space of one judge."""


def warm() -> None:
    """Do once what the first submission would have to wait for."""
    torch.set_num_threads(1)
    all_exercises()
    for lesson in lessons():
        course_cells(lesson)
        child_sources.sources(lesson)
    exercise = find("row_sum")
    for answer in (solution(exercise), lambda x: torch.zeros(len(x), dtype=x.dtype)):
        checking.grade(exercise, answer, earlier_answer, budgeted=False).to_verdict()
    gc.freeze()  # a fork's garbage collector leaves shared pages alone


def main(control: socket.socket) -> None:
    """Warm up, report that, and fork judges until no client is left."""
    warm()
    control.sendall(READY)
    serve(control)


def serve(control: socket.socket) -> None:
    """Fork a judge for each request, out of a process that is warm already."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for _, connection in fork_server.requests(control):
        fork(partial(_run_judge, control, connection, os.getpid()))
        os.close(connection)


def _run_judge(control: socket.socket, connection: int, server: int) -> None:
    end_with_parent(server)  # its grades have no reader once the server is gone
    control.close()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    own = socket.socket(fileno=connection)
    Judge(own, Channel(own).receive()).judge_all()


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
