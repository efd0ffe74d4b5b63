"""Control groups, version 2: a submission's processes have a common limit, and are killed together.

    >>> groups = here()
    >>> groups.why
    "control groups of version 2 are not mounted at /sys/fs/cgroup"
    >>> groups.group(number, limits) is None      # the other layers work without one
    True

They add to the limits of each process, which count address space, and one process at a time. The system must
have delegated a group to the user who grades; that is tested by trying. The files are described in the
kernel's Documentation/admin-guide/cgroup-v2.rst.
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
"""The group that this process moves to, beside those of submissions: a group with members cannot delegate."""
ENDING = 2.0
"""Seconds that killed processes may take to disappear."""

_number = itertools.count()


@dataclass(frozen=True)
class Groups:
    """The folder in which groups are made, or why there is none."""

    folder: Path | None = None
    why: str = ""

    def group(self, process: int, limits: Limits) -> Group | None:
        """A group with a process, given by its id, and all that it starts. To be closed.

        None if none can be made, or the process has ended: the other layers work without it.
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
        """Kill its processes and remove it. A group that does not empty in time is left."""
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
    """Where this process may make groups; it moves to a leaf of its own for that."""
    return delegated(MOUNTED, OWN)


def delegated(mounted: Path, own: Path) -> Groups:
    """The same for a tree mounted anywhere. `own` is the file that says in which group this process is."""
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
    if folder.name == LEAF:  # a process that this one was forked from moved there
        folder = folder.parent
    if why := _unusable(folder) or _delegate(folder):
        return Groups(why=why)
    _sweep(folder)
    return Groups(folder)


def _unusable(folder: Path) -> str:
    """Why no group can be made in a folder; "" if one can."""
    if not os.access(folder, os.W_OK) or not os.access(folder / "cgroup.procs", os.W_OK):
        return f"the control group {folder} is not delegated to this user"
    there = _words(folder / "cgroup.controllers")
    if absent := [name for name in CONTROLLERS if name not in there]:
        return f"the control group {folder} has no controller for {' and '.join(absent)}"
    return ""


def _delegate(folder: Path) -> str:
    """Move to a leaf and enable the controllers for groups below; or say why not, with nothing changed."""
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
        return f"the control group {folder} cannot delegate ({error.strerror}): other processes may be in it"
    return ""


def _sweep(folder: Path) -> None:
    """Remove groups that killed processes have left, which have no members any more."""
    for left in folder.glob(f"{LEAF}-*-*"):
        if not Path("/proc", left.name.split("-")[1]).exists():
            with contextlib.suppress(OSError):
                left.rmdir()


def _line(folder: Path) -> list[int]:
    """This process and its ancestors, as long as they are members of a group."""
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


def _words(path: Path) -> set[str]:
    try:
        return set(path.read_text().split())
    except OSError:
        return set()


def _write(path: Path, value: object) -> None:
    """A single write, as the kernel requires; a missing file is not created."""
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, str(value).encode())
    finally:
        os.close(handle)
