"""The process in which a launch is tried: it reads tasks from stdin, and answers with a word on a line.

A task is what `trial_launches.py` saved: a kernel as text, the grid, and the arguments with their tensors.
"ready" means that the kernel is compiled, "done" that it has completed on the GPU, and "failed" that it
raised, which the launch itself will report. What it computes is dropped.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import torch

from flashlearn.compiler.worker import Shipment, unpack

HEAD = struct.Struct("!Q")
"""Before each task: its size in bytes."""


def main() -> None:
    """Answer until stdin is closed."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a kernel prints is dropped
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        while (task := _task(sys.stdin.buffer)) is not None:
            for word in _answers(task):
                print(word, file=answers, flush=True)


def _task(stream: BinaryIO) -> dict[str, Any] | None:
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    (size,) = HEAD.unpack(head)
    body = stream.read(size)
    if len(body) < size:  # the parent died while it wrote
        return None
    return torch.load(io.BytesIO(body), weights_only=False)  # the parent is ours


def _answers(task: dict[str, Any]) -> Iterator[str]:
    job, grid = task["job"], tuple(task["grid"])
    try:
        shipment = Shipment(job["functions"], job["aggregates"])
        kernel = shipment[job["kernel"]]
        constants = {name: unpack(value, shipment) for name, value in job["constexprs"].items()}
        given = {**task["values"], **constants, **job["options"]}
        kernel.warmup(grid=grid, **given)
    except Exception:
        yield "ready"
        yield "failed"
        return
    yield "ready"
    try:
        kernel[grid](**given)
        torch.cuda.synchronize()
    except Exception:
        yield "failed"
        return
    yield "done"


if __name__ == "__main__":
    main()
