"""The process that holds a learner's function and answers questions about it: `python -m … SOCKET`."""

from __future__ import annotations

import importlib
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

import torch

from flashlearn.interpreter.route import install
from flashlearn.running.answer import Here
from flashlearn.running.remote_answer import Channel, Loader


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
        except Exception as error:  # of ours: whatever a learner's function raises is in the evidence
            traceback.print_exc()
            channel.send(("failed", f"{type(error).__name__}: {error}"))


def load(loader: Loader) -> Here:
    """The function that the loader names, as an answer to its exercise."""
    function = named(loader.path)(*loader.arguments)
    exercise = named(loader.find)(loader.exercise) if loader.exercise else None
    return Here(function, exercise)


def named(path: str) -> Callable[..., Any]:
    """What a path of the form "module:name" names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
