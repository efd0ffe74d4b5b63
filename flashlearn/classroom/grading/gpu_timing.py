"""How fast a right answer is on a GPU: timed in a child process, one at a time per GPU, and advisory.

    >>> found = timed(submission, "row_sum", gpus=range(2))
    >>> found.milliseconds, found.at_most, found.doubt
    (0.021, 0.034, '')

The child observes the answer first, as any check on a GPU does; only what passes is compiled and launched. It
reports how long a call took by the GPU's events; then it makes two rounds of calls while this process reads
its own clock, which the answer cannot reach. A time has no influence on points.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from flashlearn.classroom.grading.gpu_lock import locked_gpu
from flashlearn.classroom.records import Submission
from flashlearn.course.packaged_lessons import ROOT
from flashlearn.processes.channel import Channel
from flashlearn.processes.encoding import Malformed
from flashlearn.processes.limits import kill_group
from flashlearn.processes.start import start_with_socket

LONGEST = 240.0
"""Seconds by the clock that observing, compiling and timing one answer may take."""

ROUND = 100.0
"""Milliseconds that the calls of the shorter of two rounds take, approximately."""

LAUNCHING = 0.3
"""Milliseconds by which a call may exceed twice the events' time by the clock: launching, on a slow host."""

CHILD = ("-m", "flashlearn.classroom.grading.gpu_timing_child")


@dataclass(frozen=True)
class Timed:
    """One answer's time on a GPU, in milliseconds a call; `gpu` is its name.

    `milliseconds` is what the child reports, `at_most` what this process's clock allows, and `peer` the time
    of the first of the exercise's baselines, 0 without one. `doubt` says why the time is not reliable, or why
    there is none.
    """

    gpu: str = ""
    milliseconds: float = 0.0
    at_most: float = 0.0
    peer: float = 0.0
    doubt: str = ""

    def figures(self, name: str) -> dict[str, float]:
        """What goes into the grade's record; empty if there is no time."""
        if not self.milliseconds:
            return {}
        figures = {
            "ms": self.milliseconds,
            "ms by the grader's clock": self.at_most,
            "ms of its peer": self.peer,
        }
        return {f"{name}: {what}": value for what, value in figures.items()}


def timed(
    submission: Submission,
    name: str,
    gpus: Sequence[int],
    where: Path | None = None,
    longest: float = LONGEST,
    command: Sequence[str] = CHILD,
    clock: Callable[[], float] = time.perf_counter,
) -> Timed:
    """Time the answer to an exercise on the first GPU that is free.

    Whatever the child does, this ends at most `longest` seconds after the GPU was locked.
    """
    ours, theirs = socket.socketpair()
    with locked_gpu(gpus, where) as locked, ours:
        until = time.monotonic() + longest
        process = _start(command, theirs, locked.gpu, locked.handle)
        channel = Channel(ours)
        try:
            channel.send(("time", json.dumps(dataclasses.asdict(submission)), name))
            return _measure(channel, until, clock)
        except TimeoutError:
            return Timed(doubt=f"timing it took more than {longest:g} s")
        except (EOFError, OSError, Malformed, TypeError, ValueError) as error:
            return Timed(doubt=f"the process that timed it sent nothing that can be read ({error!r:.80})")
        finally:
            kill_group(process.pid)
            process.wait()


def _measure(channel: Channel, until: float, clock: Callable[[], float]) -> Timed:
    """The child's time, and what the clock says about it. Raises what a channel does, and ValueError."""
    match channel.receive(until):
        case ("timed", str(gpu), float(own), float(peer)) if own > 0 and math.isfinite(own + peer):
            found = Timed(gpu[:80], own, peer=max(peer, 0.0))
        case ("not timed", str(why)):
            return Timed(doubt=why[:400])
        case _:
            raise ValueError("no time")
    calls = max(1, min(1000, math.ceil(ROUND / found.milliseconds)))
    rounds = []
    for count in (calls, 3 * calls):
        start = clock()
        channel.send(("call", count))
        if channel.receive(until) != ("called", count):
            raise ValueError("no calls")
        rounds.append(clock() - start)
    at_most = (
        max(rounds[1] - rounds[0], 0.0) * 1e3 / (2 * calls)
    )  # what both rounds have in common is not part of a call
    return dataclasses.replace(found, at_most=at_most, doubt=clock_doubt(found.milliseconds, at_most))


def clock_doubt(milliseconds: float, at_most: float) -> str:
    """Why a time is not reliable: by our clock a call takes more than twice as long, plus launching."""
    if at_most <= 2 * milliseconds + LAUNCHING:
        return ""
    return (
        f"its process reports {milliseconds:.3g} ms a call, "
        f"and by the grader's own clock it takes {at_most:.3g} ms"
    )


def _start(command: Sequence[str], theirs: socket.socket, gpu: int, lock: int) -> subprocess.Popen:
    path = filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    return start_with_socket(
        [sys.executable, *command, str(theirs.fileno()), str(os.getpid())],
        theirs,
        {**os.environ, "CUDA_VISIBLE_DEVICES": str(gpu), "PYTHONPATH": os.pathsep.join(path)},
        "/",
        subprocess.DEVNULL,
        keep=[lock],  # if this process is killed, the GPU stays locked until the child has ended
    )
