"""Programs in fresh processes: one with a socket of ours, or one in a process group that ends with us."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence

from flashlearn.processes.limits import kill_group

STARTING = 60.0
"""Seconds that a fresh child may take to import what it needs and to answer for the first time."""

running: set[subprocess.Popen] = set()
"""The processes inside a `process_group` block."""


class ChildError(RuntimeError):
    """A child could not be started, is gone, or could not do what it was asked; the message says which."""


def start_with_socket(
    command: Sequence[str],
    theirs: socket.socket,
    environment: Mapping[str, str] | None = None,
    cwd: str | os.PathLike | None = None,
    stderr: int | None = None,
    keep: Sequence[int] = (),
) -> subprocess.Popen:
    """Start a program that inherits `theirs`, under the same number, and close it here.

    Of all other descriptors it inherits `keep`. It has no input and its output is dropped. It leads a
    session, and so a process group, of its own: Ctrl-C in a terminal does not reach it.
    """
    with theirs:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env=None if environment is None else dict(environment),
            cwd=cwd,
            pass_fds=[theirs.fileno(), *keep],
            start_new_session=True,
        )


@contextlib.contextmanager
def process_group(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[subprocess.Popen]:
    """A program with pipes for its streams, in a group that is killed after the block and at our exit."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(environment),
        process_group=0,  # and no session of its own, in which its priority would count for itself alone
    )
    running.add(child)
    try:
        yield child
    finally:
        kill(child)
        child.wait()
        running.discard(child)


def kill(child: subprocess.Popen) -> None:
    """Kill the child and what it started. Its group can outlive it only until this call."""
    if child.poll() is None:
        kill_group(child.pid)


@atexit.register
def _kill_all() -> None:
    for child in list(running):
        kill(child)
