"""What befalls a run of the classroom while it grades: nothing, or somebody who kills its processes."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Callable

from tests.classroom.processes import workers

Disturb = Callable[[subprocess.Popen], int]
"""Waits for a run, or ends it; how many processes were killed."""


def undisturbed(process: subprocess.Popen) -> int:
    """Wait for its end."""
    process.wait()
    return 0


def killing_workers(every: float, chance: random.Random) -> Disturb:
    """Kill one of its workers every so many seconds."""

    def disturb(process: subprocess.Popen) -> int:
        killed = 0
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(every)
                return killed
            with contextlib.suppress(OSError, IndexError):
                os.kill(chance.choice(workers(process.pid)), signal.SIGKILL)
                killed += 1

    return disturb


def killing_the_parent(times: int, within: float, chance: random.Random) -> Disturb:
    """Kill the process itself at a random moment, so many times in all."""
    left = [times]

    def disturb(process: subprocess.Popen) -> int:
        if not left[0]:
            return undisturbed(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0.1, within))
            return 0
        process.kill()
        left[0] -= 1
        return 1

    return disturb
