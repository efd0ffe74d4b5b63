"""What a process does to itself before a student's code runs in it. It cannot be undone."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from dataclasses import dataclass, field

from flashlearn.classroom.sandbox import landlock, layers, namespaces, seccomp
from flashlearn.processes.limits import close_inherited, silence


@dataclass(frozen=True)
class Limits:
    """How much a submission may use.

    Seconds of CPU time: `call` for one call of a function (an exercise may allow less, or ask for more),
    `cell` for a cell, `whole` for all that one process does. `asleep` are seconds by the clock without any
    CPU time, and `grace` those beyond a limit after which the process is killed from outside. Bytes: `memory`
    beyond what Python with torch has allocated already, `file` for one file, `scratch` for all of them,
    `message` for one answer.
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
    """The layers, what may be read, the folder that is a process's own ("" for none), and the limits."""

    layers: tuple[str, ...]
    readable: tuple[str, ...] = ()
    folder: str = ""
    limits: Limits = field(default_factory=Limits)


def confine(plan: Plan, keep: int) -> None:
    """Apply every layer of the plan to this process, which keeps one socket. Raises OSError."""
    _drop_inherited(plan.folder, keep)
    with contextlib.suppress(OSError):
        os.setsid()
    if not plan.layers:
        return
    namespaces.dies_with_parent()
    if layers.LIMITS in plan.layers:
        _limit(plan.limits)
    if layers.LANDLOCK in plan.layers:
        own = f"/proc/{os.getpid()}"
        landlock.restrict([*plan.readable, own], [plan.folder] if plan.folder else [])
    namespaces.without_privileges()
    if layers.SECCOMP in plan.layers:
        seccomp.refuse()


def _drop_inherited(folder: str, keep: int) -> None:
    """No open files, no output, and no environment but a home folder of its own."""
    silence()
    close_inherited(keep)
    os.environ.clear()
    home = folder or "/nonexistent"
    os.environ.update(HOME=home, TMPDIR=home, TRITON_CACHE_DIR=f"{home}/triton", LANG="C.UTF-8")
    if folder:
        os.chdir(folder)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _limit(limits: Limits) -> None:
    most = {
        resource.RLIMIT_AS: _address_space() + limits.memory,
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
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a file that is too large is an error, not a kill


def _address_space() -> int:
    """Bytes of address space that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
