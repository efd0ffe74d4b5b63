"""Which sandbox layers this machine has for students' code. Each is tested by applying it in a child.

>>> found = available()
>>> found.names
('bubblewrap', 'namespaces', 'Landlock', 'seccomp', 'limits')
>>> found.insufficient()
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
from flashlearn.processes.forked import fork

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
    """Sandbox layers by name."""

    names: tuple[str, ...]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def insufficient(self) -> str:
        """Why students' code may not be run inside these layers; "" if it may."""
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
def available() -> Layers:
    """The layers that work here."""
    attempts = {
        BUBBLEWRAP: bubblewrap_works,
        NAMESPACES: lambda: works(namespaces.leave),
        LANDLOCK: lambda: works(lambda: landlock.restrict(["/dev/null"])),
        SECCOMP: lambda: works(seccomp.refuse),
        LIMITS: lambda: sys.platform != "win32",
    }
    return Layers(tuple(name for name, works_here in attempts.items() if works_here()))


def works(attempt: Callable[[], object]) -> bool:
    """True if an attempt succeeds in a child process."""
    if not hasattr(os, "fork"):
        return False
    return os.waitstatus_to_exitcode(os.waitpid(fork(attempt), 0)[1]) == 0


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
    """The paths that are below none of the others: a folder brings along everything in it.

    A link in it may lead to a path that does not exist inside bubblewrap, and nothing can be mounted on one.
    """
    known = set(paths)
    return [path for path in paths if not any(str(above) in known for above in Path(path).parents)]


def bubblewrap(program: str, paths: list[str], scratch: int) -> list[str]:
    """The start of a command line: the rest of it runs with these paths to read, and /tmp to write.

    /tmp holds at most `scratch` bytes.
    """
    command = [program, "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]
    command += ["--proc", "/proc", "--dev", "/dev", "--size", str(scratch), "--tmpfs", "/tmp"]
    for path in uppermost(paths):
        if not path.startswith(("/proc", "/dev", "/sys")):
            command += ["--ro-bind", path, path]
    if os.getuid() == 0:  # not root inside; other users may make namespaces of their own there
        command += ["--uid", "1000", "--gid", "1000"]
    return [*command, "--cap-drop", "ALL", "--chdir", "/tmp"]
