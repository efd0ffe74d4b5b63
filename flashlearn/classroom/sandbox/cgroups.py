"""Control groups, version 2: what a submission's processes take together is bounded, and they end together.

    >>> groups = here()
    >>> groups.why
    "control groups of version 2 are not mounted at /sys/fs/cgroup"
    >>> groups.group(number, limits) is None      # the other walls stand without one
    True

They add to the limits that each process has: those count address space, and one process at a time. The
system has to have delegated a group to whoever grades, which is found out by trying it. The files are those
of the kernel's Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from flashlearn.classroom.sandbox.confinement import Limits

MOUNTED, OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
CONTROLLERS = ("memory", "pids")
LEAF = "flashlearn"
"""The group beside those of submissions that this process goes to: one with members delegates nothing."""
ENDING = 2.0
"""Seconds that killed processes may take to be gone."""

_number = itertools.count()


@dataclass(frozen=True)
class Groups:
    """The folder that groups are made in, or why there is none."""

    folder: Path | None = None
    why: str = ""

    def group(self, process: int, limits: Limits) -> Group | None:
        """A group that a process, by its number, and all that it makes are in. To be closed.

        It is None where none can be made, or the process has ended: the other walls stand without it.
        """
        if self.folder is None or process <= 0:
            return None
        group = Group(self.folder / f"{LEAF}-{os.getpid()}-{next(_number)}")
        try:
            group.folder.mkdir()
            group.write("memory.max", limits.memory + limits.scratch)
            group.write("pids.max", limits.threads)
            for name, value in (("memory.swap.max", 0), ("memory.oom.group", 1)):
                with contextlib.suppress(OSError):  # a kernel without swap has no such file
                    group.write(name, value)
            group.write("cgroup.procs", process)
        except OSError:
            group.close()
            return None
        return group


@dataclass(frozen=True)
class Group:
    """One submission's processes."""

    folder: Path
    ending: float = field(default=ENDING)

    def write(self, name: str, value: object) -> None:
        """Set one of its files. Raises OSError."""
        _write(self.folder / name, value)

    def close(self) -> None:
        """Kill all that is in it, and remove it. One that does not end in time is left, without members."""
        with contextlib.suppress(OSError):
            self.write("cgroup.kill", 1)
        until = time.monotonic() + self.ending
        while self.folder.is_dir():
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            if time.monotonic() > until:
                return
            time.sleep(0.005)


@functools.cache
def here() -> Groups:
    """What this process may make groups in; it goes to a leaf of its own for that."""
    return delegated(MOUNTED, OWN)


def delegated(mounted: Path, own: Path) -> Groups:
    """The same for a tree that is mounted anywhere. `own` says in which group this process is."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return Groups(why="this system has no control groups")
    if not (mounted / "cgroup.controllers").is_file():
        return Groups(why=f"control groups of version 2 are not mounted at {mounted}")
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    if path is None:
        return Groups(why="this process is in no control group of version 2")
    folder = mounted / path.lstrip("/")
    if folder.name == LEAF:  # a process that this one was forked from went there
        folder = folder.parent
    if why := _lacking(folder) or _entered(folder):
        return Groups(why=why)
    _sweep(folder)
    return Groups(folder)


def _lacking(folder: Path) -> str:
    """Why nothing can be made in a group."""
    if not os.access(folder, os.W_OK) or not os.access(folder / "cgroup.procs", os.W_OK):
        return f"the control group {folder} is not delegated to this user"
    there = _words(folder / "cgroup.controllers")
    if absent := [name for name in CONTROLLERS if name not in there]:
        return f"the control group {folder} has no controller for {' and '.join(absent)}"
    return ""


def _entered(folder: Path) -> str:
    """Hand the controllers on to groups below, out of a leaf; or why not, and nothing has changed."""
    if set(CONTROLLERS) <= _words(folder / "cgroup.subtree_control"):
        return ""
    leaf, moved = folder / LEAF, []
    try:
        leaf.mkdir(exist_ok=True)
        for number in _line(folder):
            _write(leaf / "cgroup.procs", number)
            moved.append(number)
        _write(folder / "cgroup.subtree_control", " ".join(f"+{name}" for name in CONTROLLERS))
    except OSError as error:
        for number in moved:
            with contextlib.suppress(OSError):
                _write(folder / "cgroup.procs", number)
        with contextlib.suppress(OSError):
            leaf.rmdir()
        return f"the control group {folder} hands nothing on ({error.strerror}): other processes may be in it"
    return ""


def _sweep(folder: Path) -> None:
    """Remove what processes that were killed have left: their groups have no members any more."""
    for left in folder.glob(f"{LEAF}-*-*"):
        if not Path("/proc", left.name.split("-")[1]).exists():
            with contextlib.suppress(OSError):
                left.rmdir()


def _line(folder: Path) -> list[int]:
    """This process and those above it, as far as they are members of a group."""
    members = _words(folder / "cgroup.procs")
    line, number = [], os.getpid()
    while number and str(number) in members:
        line.append(number)
        number = _parent(number)
    return line


def _parent(number: int) -> int:
    try:
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def number_of(handle: int) -> int:
    """The number of the process that a handle is of; 0 where it has ended."""
    for line in Path(f"/proc/self/fdinfo/{handle}").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "Pid":
            return max(int(value), 0)
    return 0


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text().split())
    except OSError:
        return set()


def _write(path: Path, value: object) -> None:
    """One write, as the kernel takes it; a file that is not there is not made."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, str(value).encode())
    finally:
        os.close(handle)
