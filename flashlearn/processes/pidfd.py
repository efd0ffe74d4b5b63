"""Processes by pidfds: file descriptors that stay a process's own after it has ended (pidfd_open(2))."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def process_id(pidfd: int) -> int:
    """The process id that a pidfd's process has in this PID namespace; 0 if it has ended or has none here."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines():
            if line.startswith("Pid:"):
                return max(int(line.split()[1]), 0)
    return 0


def kill(pidfd: int) -> None:
    """Kill the process, if it has not ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)


def cpu_seconds(number: int) -> float:
    """CPU time that the process with this id has used, in seconds; 0 if that cannot be read."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
