"""What a child process does to itself, and how its group is ended."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent, which has this process id, ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)


def silence() -> None:
    """Connect the standard streams to /dev/null: nothing is read from them or printed."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def close_inherited(keep: int) -> None:
    """Close every file descriptor but the standard streams and one."""
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))


def kill_group(leader: int) -> None:
    """Kill a process group, which has the process id of its leader: the child and what it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
