"""What a process does to itself before a stranger's code runs in it. There is no way back."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from dataclasses import dataclass, field

from flashlearn.classroom.sandbox import landlock, layers, namespaces, seccomp


@dataclass(frozen=True)
class Limits:
    """How much a submission may use.

    Seconds of a processor: `call` at most for one call of a function (an exercise may allow less, or ask for
    more), `cell` for a cell, `whole` for all that one process does. `asleep` are seconds in which it does
    nothing at all, and `grace` those that pass until it is ended from outside. Bytes: `memory` beyond what
    Python with torch has taken already, `file` for one file, `scratch` for all of them, `message` for one
    answer.
    """

    call: float = 20.0
    cell: float = 10.0
    whole: float = 600.0
    asleep: float = 20.0
    grace: float = 3.0
    memory: int = 2 << 30
    file: int = 16 << 20
    scratch: int = 64 << 20
    message: int = 256 << 20
    files: int = 64
    threads: int = 64


@dataclass(frozen=True)
class Plan:
    """The walls, what may be read, the folder that is a process's own ("" for none), and the limits."""

    walls: tuple[str, ...]
    readable: tuple[str, ...] = ()
    folder: str = ""
    limits: Limits = field(default_factory=Limits)


def confine(plan: Plan, keep: int) -> None:
    """Put every wall of the plan around this process, which keeps one socket. Raises OSError."""
    _forget(plan.folder, keep)
    with contextlib.suppress(OSError):
        os.setsid()
    if not plan.walls:
        return
    namespaces.dies_with_parent()
    if layers.LIMITS in plan.walls:
        _limit(plan.limits)
    if layers.LANDLOCK in plan.walls:
        own = f"/proc/{os.getpid()}"
        landlock.restrict([*plan.readable, own], [plan.folder] if plan.folder else [])
    namespaces.without_privileges()
    if layers.SECCOMP in plan.walls:
        seccomp.refuse()


def _forget(folder: str, keep: int) -> None:
    """No files, no words to anybody, no environment but a home of its own."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.closerange(3, keep)
    os.closerange(keep + 1, os.sysconf("SC_OPEN_MAX"))
    os.environ.clear()
    home = folder or "/nonexistent"
    os.environ.update(HOME=home, TMPDIR=home, TRITON_CACHE_DIR=f"{home}/triton", LANG="C.UTF-8")
    if folder:
        os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _limit(limits: Limits) -> None:
    most = {
        resource.RLIMIT_AS: _taken() + limits.memory,
        resource.RLIMIT_CPU: int(limits.whole),
        resource.RLIMIT_FSIZE: limits.file,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_NPROC: limits.threads,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
    }
    for what, value in most.items():
        _, hard = resource.getrlimit(what)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (value, value))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that is too large is an error, and no end


def _taken() -> int:
    """Bytes of address space that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
