"""The process that holds a learner's function and answers questions about it: `python -m … SOCKET`.

With `python -m … SOCKET fork WARM…` it is a fork server of such processes: it has torch, triton and the
package in memory, and has called the functions that the paths WARM name.
"""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import torch

from flashlearn.interpreter.route import install
from flashlearn.processes import fork_server
from flashlearn.processes.channel import Channel
from flashlearn.processes.forked import fork
from flashlearn.running import advice, launcher_runs  # noqa: F401 - before the fork: a child finds them
from flashlearn.running.answer import Here
from flashlearn.running.remote_answer import FORK, Loader


def serve(connection: socket.socket) -> None:
    """Answer until the other side is gone."""
    torch.set_num_threads(1)
    install()
    channel, answer = Channel(connection), None
    while True:
        try:
            what, *arguments = channel.receive()
        except (EOFError, OSError):
            return
        try:
            if what == "load":
                answer = load(*arguments)
                value: Any = answer.facts()
            else:
                value = getattr(answer, what)(*arguments)
            channel.send(("done", value))
        except (
            Exception
        ) as error:  # a fault of the grader: what a learner's function raises is in the evidence
            traceback.print_exc()
            channel.send(("failed", f"{type(error).__name__}: {error}"))


def load(loader: Loader) -> Here:
    """The function that the loader names, as an answer to its exercise."""
    function = named(loader.path)(*loader.arguments)
    exercise = named(loader.find)(loader.exercise) if loader.exercise else None
    return Here(function, exercise)


def named(path: str) -> Callable[..., Any]:
    """The object that a path of the form "module:name" names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def fork_on_request(control: socket.socket, warm: Sequence[str]) -> None:
    """Fork a child for each request, and answer with its process id, until no client is left."""
    torch.set_num_threads(1)
    for path in warm:
        named(path)()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children are reaped by the kernel

    def child(handle: int) -> None:
        os.setsid()
        control.close()
        serve(socket.socket(fileno=handle))

    for _, handle in fork_server.requests(control):
        number = fork(lambda handle=handle: child(handle))
        os.close(handle)
        control.sendall(str(number).encode())


if __name__ == "__main__":
    given = socket.socket(fileno=int(sys.argv[1]))
    if sys.argv[2:3] == [FORK]:
        fork_on_request(given, sys.argv[3:])
    else:
        serve(given)
