"""Which walls this machine can put around a stranger's code. Each is found out by trying it.

>>> found = standing()
>>> found.names
('bubblewrap', 'namespaces', 'Landlock', 'seccomp', 'limits')
>>> found.lacking()
''
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flashlearn.classroom.sandbox import landlock, namespaces, seccomp
from flashlearn.classroom.sandbox.readable_paths import SYSTEM

BUBBLEWRAP, NAMESPACES, LANDLOCK, SECCOMP, LIMITS = (
    "bubblewrap",
    "namespaces",
    "Landlock",
    "seccomp",
    "limits",
)
SECONDS = 20.0


@dataclass(frozen=True)
class Layers:
    """The walls by name."""

    names: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def lacking(self) -> str:
        """Why strangers' code may not be run behind these walls; nothing if it may."""
        if SECCOMP not in self:
            return (
                "this system has no seccomp, so nothing keeps a submission from the network and from programs"
            )
        if LANDLOCK not in self and BUBBLEWRAP not in self:
            return "this system has neither Landlock nor bubblewrap, so a submission could read every file"
        return ""

    def without(self, *names: str) -> Layers:
        """The others."""
        return Layers(tuple(name for name in self.names if name not in names))


NONE = Layers(())


@functools.cache
def standing() -> Layers:
    """The walls that work here."""
    tried = {
        BUBBLEWRAP: bubblewrap_works,
        NAMESPACES: lambda: works(namespaces.leave),
        LANDLOCK: lambda: works(lambda: landlock.restrict(["/dev/null"])),
        SECCOMP: lambda: works(seccomp.refuse),
        LIMITS: lambda: sys.platform != "win32",
    }
    return Layers(tuple(name for name, works_here in tried.items() if works_here()))


def works(attempt: Callable[[], object]) -> bool:
    """True if an attempt comes to its end in a process of its own."""
    if not hasattr(os, "fork"):
        return False
    child = os.fork()
    if child == 0:
        code = 1
        try:
            attempt()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def bubblewrap_works() -> bool:
    """True if bubblewrap is installed, and may make its namespaces."""
    program = shutil.which("bwrap")
    if program is None:
        return False
    command = [*bubblewrap(program, [path for path in SYSTEM if os.path.exists(path)], 1 << 20)]
    try:
        true = os.path.realpath(shutil.which("true") or "/bin/true")
        done = subprocess.run(
            [*command, "--ro-bind", true, true, "--", true], capture_output=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def uppermost(paths: list[str]) -> list[str]:
    """The paths that lie beneath none of the others: what is in one folder need not be named again.

    A link in it may lead to where nothing is behind the walls, and nothing can be mounted upon such a one.
    """
    known = set(paths)
    return [path for path in paths if not any(str(above) in known for above in Path(path).parents)]


def bubblewrap(program: str, paths: list[str], scratch: int) -> list[str]:
    """The command before a command: these paths to read, /tmp of so many bytes to write, and nothing else."""
    command = [program, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    command += ["--proc", "/proc", "--dev", "/dev", "--size", str(scratch), "--tmpfs", "/tmp"]
    for path in uppermost(paths):
        if not path.startswith(("/proc", "/dev", "/sys")):
            command += ["--ro-bind", path, path]
    if os.getuid() == 0:  # nobody is root inside; and who is not may make namespaces of their own there
        command += ["--uid", "1000", "--gid", "1000"]
    return [*command, "--cap-drop", "ALL", "--chdir", "/tmp"]
