"""The processes in which compilers run: a child for each job, with limits, and ended with all it started."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from flashlearn.compiler import explain

NICE = 10
"""How far what runs in the background stands back for whatever else wants the processor."""
PATIENCE = 10.0
"""So many times its limit, which counts processor time, a compilation in the background may take."""
OUT_OF_TIME = (-signal.SIGXCPU, -signal.SIGALRM)
TOO_LONG = (
    "Compiling for an {{device}} took longer than {seconds:g} s and was stopped: the tile is probably too "
    "large; try smaller blocks."
)
TOO_BUSY = (
    "Compiling for an {{device}} was stopped after {seconds:g} s, in which other work left it too little of "
    "the processor. Check again when the machine is less busy."
)

running: set[subprocess.Popen] = set()


def ask(
    job: dict[str, Any], turn: AbstractContextManager[None], patient: bool
) -> tuple[dict[int, dict[str, Any]], str]:
    """The child's answers by target, and the sentence that holds for targets it did not answer for.

    A `patient` child stands back for whatever else wants the processor, and may take longer by the clock.
    """
    script, timeout = Path(__file__).with_name("worker.py"), job["timeout"]
    wall = timeout * (PATIENCE if patient else 1.0)
    with (
        turn,
        tempfile.TemporaryDirectory(prefix="flashlearn-", ignore_cleanup_errors=True) as scratch,
    ):
        environment = {k: v for k, v in os.environ.items() if k != "TRITON_INTERPRET"} | {"TMPDIR": scratch}
        with _child([sys.executable, "-P", "-W", "ignore", str(script)], environment) as child:
            ending = explain.CRASH
            if patient and os.environ.get("FLASHLEARN_WAIT") != "1":
                _stand_back(child)
            try:
                output, errors = child.communicate(json.dumps(job | {"wall": wall}), timeout=wall)
                if child.returncode > 0:
                    ending = f"Compiling for an {{device}} could not start: {_last_line(errors)}"
                elif child.returncode in OUT_OF_TIME:
                    ending = TOO_LONG.format(seconds=timeout)
            except subprocess.TimeoutExpired:
                _kill(child)
                output, _ = child.communicate()
                ending = (TOO_BUSY if patient else TOO_LONG).format(seconds=wall)
    answers = [json.loads(line) for line in output.splitlines() if line.endswith("}")]
    return {answer["target"]: answer for answer in answers}, ending


@contextlib.contextmanager
def _child(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen]:
    """A process group of its own, ended with everything it started, whatever happens here."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        process_group=0,  # and no session of its own, in which its priority would count for itself alone
    )
    running.add(child)
    try:
        yield child
    finally:
        _kill(child)
        child.wait()
        running.discard(child)


def _stand_back(child: subprocess.Popen) -> None:
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, child.pid, os.getpriority(os.PRIO_PROCESS, 0) + NICE)


def _kill(child: subprocess.Popen) -> None:
    """End the child and what it started (ptxas). Its group can outlive it only until this call."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


@atexit.register
def _kill_all() -> None:
    for child in list(running):
        _kill(child)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].replace("{", "(").replace("}", ")") if lines else "no reason given."
