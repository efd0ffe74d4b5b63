"""The process that times one answer on the GPU it sees: `python -m … SOCKET PARENT`.

It is not sandboxed, as a GPU's driver cannot be used inside the sandbox. So it is for notebooks that are
graded with `--unsafe`.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from triton.runtime.jit import JITFunction

from flashlearn import checking
from flashlearn.classroom.gradebook import submission_from
from flashlearn.classroom.grading.notebook_cells import notebook_cells
from flashlearn.classroom.sandbox.child import CellSession
from flashlearn.course.answers import earlier_answer
from flashlearn.exercise import Exercise
from flashlearn.judging import draws
from flashlearn.lessons import find
from flashlearn.machine import device
from flashlearn.processes.channel import Channel
from flashlearn.processes.limits import end_with_parent
from flashlearn.report import Report

CELL = 20.0
"""Seconds of CPU time that a cell may take."""


def main(connection: socket.socket, parent: int) -> None:
    """Time one answer; then call it as often as requested, until the connection closes."""
    end_with_parent(parent)
    channel = Channel(connection)
    match channel.receive():
        case ("time", str(text), str(name)):
            exercise = find(name)
        case _:
            return
    function = answer(text, exercise)
    if function is None:
        channel.send(("not timed", f"there is no function {name}"))
        return
    report = checking.grade(exercise, function, earlier_answer, budgeted=False)
    if why := untimed(report):
        channel.send(("not timed", why))
        return
    timing = report.timing
    peer = next((one.median for one in timing.peers.values()), 0.0)
    channel.send(("timed", timing.where, float(timing.own.median), float(peer)))
    call = timed_call(exercise, function)
    while True:
        try:
            _, count = channel.receive()
        except (EOFError, OSError):
            return
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        channel.send(("called", count))


def answer(text: str, exercise: Exercise) -> Callable[..., Any] | None:
    """The function of a submission, out of the cells that it needs; None without one."""
    cells = notebook_cells(submission_from(text), (exercise,))[exercise.name]
    session = CellSession()
    with no_launches():
        session.cells(list(cells.sliced(exercise.name)), None, CELL)
    return session.module.__dict__.get(exercise.name)


@contextlib.contextmanager
def no_launches() -> Iterator[None]:
    """Refuse launches: a launch in a cell was not observed before."""

    def refused(*_arguments: Any, **_options: Any) -> None:
        raise RuntimeError("No kernel is launched while cells are run.")

    real, JITFunction.run = JITFunction.run, refused
    try:
        yield
    finally:
        JITFunction.run = real


def untimed(report: Report) -> str:
    """Why an answer was not timed; "" if it was. Only what passed observed is launched."""
    if not report.passed:
        return f"on the GPU's machine it does not pass: {report.sentence}"
    if not device.has_gpu():
        return "there is no GPU"
    if report.timing is None or not report.timing.measured or report.timing.own is None:
        return "its exercise has no case for timing"
    return ""


def timed_call(exercise: Exercise, function: Callable[..., Any]) -> Callable[[], Any]:
    """One call, as it was timed."""
    inputs = draws.on_device(draws.inputs(exercise, exercise.timed.case), "cuda")
    if exercise.judged.call is not None:
        return functools.partial(exercise.judged.call, function, inputs)
    return functools.partial(function, *inputs.values())


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]))
