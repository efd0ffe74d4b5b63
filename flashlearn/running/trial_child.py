"""The process in which a launch is tried: it reads tasks from stdin, and answers with a word on a line.

A task is what `trial_launches.py` saved: the files of a compiled kernel, the grid, and the arguments. "up"
means that torch and the context of the GPU are there, "ready" that the kernel of a task is loaded, "done"
that it has completed on the GPU, and "failed" that something raised, which the launch itself will report.
What it computes is dropped. The process ends with its stdin, or if no task comes for long.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import struct
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, BinaryIO

import torch
from triton.compiler import CompiledKernel

HEAD = struct.Struct("!Q")
"""Before each task: its size in bytes."""
IDLE = 1800.0
"""Seconds without a task after which the process ends, and gives back the GPU's memory that it holds."""


def main() -> None:
    """Answer until stdin is closed."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a kernel prints is dropped
    with contextlib.suppress(Exception):  # said of the first task
        torch.zeros(1, device="cuda")
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        print("up", file=answers, flush=True)
        while (task := _task(sys.stdin.buffer)) is not None:
            for word in _answers(task):
                print(word, file=answers, flush=True)


def _task(stream: BinaryIO) -> dict[str, Any] | None:
    if not select.select([stream], [], [], IDLE)[0]:
        return None
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    (size,) = HEAD.unpack(head)
    body = stream.read(size)
    if len(body) < size:  # the parent died while it wrote
        return None
    return torch.load(io.BytesIO(body), weights_only=False)  # the parent is ours


def _answers(task: dict[str, Any]) -> Iterator[str]:
    try:
        source = SimpleNamespace(signature=task["signature"], constants=task["constants"], fn=None)
        launch = CompiledKernel(source, task["files"], task["hash"])[tuple(task["grid"])]
    except Exception:
        yield "ready"
        yield "failed"
        return
    yield "ready"
    try:
        launch(*task["values"])
        torch.cuda.synchronize()
    except Exception:
        yield "failed"
        return
    yield "done"


if __name__ == "__main__":
    main()
