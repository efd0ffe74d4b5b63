"""The child process that compiles a job (`worker.py`), and the order in which such processes start.

The process has limits, and is ended with all that it started. What a check waits for starts at once, other
work queues:

    >>> with queue.foreground():        # a check needs the compiler's answer
    ...     ...
    >>> with queue.background(3):       # the third card of a session: newer cards come first
    ...     ...

In the background two compile at a time, the newest card first: it is the one that the learner looks at.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from flashlearn.compiler import explain
from flashlearn.processes.start import kill, process_group

BACKGROUND_SLOTS = 2
NICE = 10
"""By how much the priority of what runs in the background is lowered."""
PATIENCE = 10.0
"""How many times its limit, which counts CPU time, a compilation in the background may take by the clock."""
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGALRM)
TOO_LONG = (
    "Compiling for an {{device}} took longer than {seconds:g} s and was stopped: the tile is probably too "
    "large; try smaller blocks."
)
TOO_BUSY = (
    "Compiling for an {{device}} was stopped after {seconds:g} s, in which other work left it too little of "
    "the processor. Check again when the machine is less busy."
)


def run_worker(
    job: dict[str, Any], turn: AbstractContextManager[None], patient: bool
) -> tuple[dict[int, dict[str, Any]], str]:
    """The worker's answers by target, and the sentence that holds for targets it did not answer for.

    A `patient` worker runs at a lower priority, and may take longer by the clock.
    """
    script, timeout = Path(__file__).with_name("worker.py"), job["timeout"]
    wall = timeout * (PATIENCE if patient else 1.0)
    with (
        turn,
        tempfile.TemporaryDirectory(prefix="flashlearn-", ignore_cleanup_errors=True) as scratch,
    ):
        environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | {"TMPDIR": scratch}
        with process_group([sys.executable, "-P", "-W", "ignore", str(script)], environment) as child:
            ending = explain.CRASH
            if patient and os.environ.get("FLASHLEARN_WAIT") != "1":
                _lower_priority(child)
            try:
                output, errors = child.communicate(json.dumps(job | {"wall": wall}), timeout=wall)
                if child.returncode > 0:
                    ending = f"Compiling for an {{device}} could not start: {_last_line(errors)}"
                elif child.returncode in OUT_OF_TIME:
                    ending = TOO_LONG.format(seconds=timeout)
            except subprocess.TimeoutExpired:
                kill(child)
                output, _ = child.communicate()
                ending = (TOO_BUSY if patient else TOO_LONG).format(seconds=wall)
    answers = [json.loads(line) for line in output.splitlines() if line.endswith("}")]
    return {answer["target"]: answer for answer in answers}, ending


def _lower_priority(child: subprocess.Popen) -> None:
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, child.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].replace("{", "(").replace("}", ")") if lines else "no reason given."


class CompileQueue:
    """Admits foreground work immediately, and background work to a number of slots, the newest first."""

    def __init__(self, slots: int = BACKGROUND_SLOTS):
        self._free = slots
        self._foreground = 0
        self._waiting: list[int] = []
        self._change = threading.Condition()

    @contextlib.contextmanager
    def foreground(self) -> Iterator[None]:
        """Never waits; no background work starts while the block runs."""
        self._count(foreground=1)
        try:
            yield
        finally:
            self._count(foreground=-1)

    @contextlib.contextmanager
    def background(self, number: int) -> Iterator[None]:
        """Waits for a free slot, for foreground work, and for those with a higher number."""
        with self._change:
            self._waiting.append(number)
            self._change.wait_for(lambda: self._may_start(number))
            self._waiting.remove(number)
            self._free -= 1
            self._change.notify_all()
        try:
            yield
        finally:
            self._count(free=1)

    def _may_start(self, number: int) -> bool:
        return self._free > 0 and not self._foreground and number == max(self._waiting)

    def _count(self, foreground: int = 0, free: int = 0) -> None:
        with self._change:
            self._foreground += foreground
            self._free += free
            self._change.notify_all()
